import Wire

extension Configuration {
    /// Throws unless every value is within its bounds, and they go together.
    public func validate() throws(ConfigurationError) {
        for key in Self.keys {
            let value = key.get(self)
            guard key.kind.read(value) != nil else {
                throw .wrongValue(key.name, value, allowed: key.kind.allowed, source(of: key.name))
            }
        }
        if restored, startsOperating {
            throw ConfigurationError(
                .conflict, .standard, "a restored launch begins on hold: it can't begin operating")
        }
        try require("maxMessageBytes", atLeast: "maxFrameBytes")
        try require("maxFrameBytes", atLeast: "maxEventBytes")
        try require("maxWindowBytes", atLeast: "deliverBytes")
        // A commit takes half a segment, and at least half of that goes to lines: any message finds room.
        try require("segmentBytes", atLeast: "maxMessageBytes", times: 4)
        // Each segment begins with the table of producers; a row of six names of 128 bytes takes up to 1 KiB.
        try require("segmentBytes", atLeast: "rememberedProducers", times: 4096)
        try checkAddresses()
    }

    private func require(
        _ name: String, atLeast other: String, times factor: Int64 = 1
    ) throws(ConfigurationError) {
        guard let value = Self.key(name)?.get(self).asInt64, let bound = Self.key(other)?.get(self).asInt64
        else { preconditionFailure("\(name) and \(other) are numbers") }
        guard value < bound * factor else { return }
        let times = factor == 1 ? "" : "\(factor) times "
        throw ConfigurationError(
            .conflict, source(of: name),
            "\(source(of: name).subject(name)) is \(value); allowed: at least \(bound * factor), "
                + "\(times)\(other) (\(source(of: other)))")
    }

    /// No address twice, but those that take any free port.
    private func checkAddresses() throws(ConfigurationError) {
        var owners: [String: String] = [:]
        for (name, addresses) in [
            ("control", control), ("stream", stream), ("ingest", ingest), ("plugin", plugin),
        ] {
            for address in addresses {
                guard let fault = Address.fault(address) else { continue }
                throw ConfigurationError(
                    .wrongValue, source(of: name),
                    "\(source(of: name).subject(name)) has \(address): \(fault)")
            }
            for address in addresses where !address.hasSuffix(":0") && !address.hasSuffix(":*") {
                if let owner = owners.updateValue(name, forKey: address) {
                    throw ConfigurationError(
                        .conflict, source(of: name),
                        "\(source(of: name).subject(name)) has \(address), and so has "
                            + "\(owner) (\(source(of: owner)))")
                }
            }
        }
    }
}
