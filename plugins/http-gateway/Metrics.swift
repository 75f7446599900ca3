import HoldgateClient

/// Metrics as a value, and how Prometheus reads them.
struct Metrics: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case counter
        case gauge
        case histogram
        case info
    }

    struct Sample: Hashable, Sendable {
        /// After the family's name: `_bucket`, `_sum`, `_count`; empty for most.
        var suffix = ""
        var labels: [Label] = []
        var value: Double
    }

    struct Label: Hashable, Sendable {
        let name: String
        let value: String
        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    struct Family: Hashable, Sendable {
        /// Without `_total` and `_info`.
        let name: String
        let kind: Kind
        let help: String
        var samples: [Sample]
    }

    private(set) var families: [Family] = []

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        families.append(Family(name: name, kind: kind, help: help, samples: samples))
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
        guard let value else { return }
        add(name, kind, help, [Sample(value: value)])
    }

    // MARK: Text

    enum Format: Hashable, Sendable {
        /// Prometheus' own, version 0.0.4.
        case prometheus
        /// OpenMetrics 1.0.0.
        case openMetrics

        /// What a scraper asks for.
        init(accept: String?) {
            let isAsked = accept?.lowercased().contains("application/openmetrics-text") ?? false
            self = isAsked ? .openMetrics : .prometheus
        }

        var mediaType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    func text(_ format: Format) -> String {
        var text = ""
        for family in families {
            let sampleName = family.name + family.kind.suffix
            // Before OpenMetrics the suffix belonged to the family's name, and there was no type info.
            let name = format == .openMetrics ? family.name : sampleName
            let kind = format == .prometheus && family.kind == .info ? Kind.gauge : family.kind
            text += "# HELP \(name) \(Self.escaped(family.help, quotes: format == .openMetrics))\n"
            text += "# TYPE \(name) \(kind.rawValue)\n"
            for sample in family.samples {
                text += sampleName + sample.suffix
                if !sample.labels.isEmpty {
                    let labels = sample.labels.map {
                        "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\""
                    }
                    text += "{\(labels.joined(separator: ","))}"
                }
                text += " \(Self.number(sample.value))\n"
            }
        }
        return format == .openMetrics ? text + "# EOF\n" : text
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return String(whole) }
        return value.description
    }
}

extension Metrics.Kind {
    /// What the names of its samples end in.
    var suffix: String {
        switch self {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }
}

extension Metrics {
    /// A histogram: counts up to each bound, and more.
    ///
    /// - Parameters:
    ///   - scale: what one unit of the bounds and the sum is, in the metric's own.
    ///   - counts: not cumulative, one more than bounds.
    mutating func addHistogram(
        _ name: String, _ help: String, bounds: [UInt64], counts: [UInt64], sum: UInt64, scale: Double = 1,
        labels: [Label] = []
    ) {
        guard counts.count == bounds.count + 1 else { return }
        var samples: [Sample] = []
        var total: UInt64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? Self.bound(Double(bounds[index]) * scale) : "+Inf"
            samples.append(
                Sample(suffix: "_bucket", labels: labels + [Label("le", bound)], value: Double(total)))
        }
        samples.append(Sample(suffix: "_sum", labels: labels, value: Double(sum) * scale))
        samples.append(Sample(suffix: "_count", labels: labels, value: Double(total)))
        add(name, .histogram, help, samples)
    }

    /// As OpenMetrics wants bounds: always with a point.
    private static func bound(_ value: Double) -> String { value.description }
}
