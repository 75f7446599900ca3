import Engine
import HoldgateHost
import Journal
import Lifecycle
import Simulator
import Wire

// What goes wrong: the power, the process, the disk, the clock.
extension World {
    func trouble() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30:
            guard powerLossAt == nil else { return }
            plan(.powerLoss, within: 25)
        case 30..<50:
            storage.restart()
            try die("the process is killed")
        case 50..<60:
            guard let host else { return }
            note("the host is asked to stop")
            host.stop(now)
            try takeOutputs()
        case 60..<68: plan(.error, within: 25)
        case 68..<85:
            note("the disk is filling up")
            storage.capacityBytes = storage.disk.usedBytes + Int.random(in: 0...4000, using: &random)
        default: storage.capacityBytes = .max
        }
    }

    private func plan(_ fault: FaultyStorage.Fault, within count: Int) {
        let at = storage.calls.count + Int.random(in: 0..<count, using: &random)
        note("\(fault) at call \(at)")
        storage.faults[at] = fault
        if fault == .powerLoss { powerLossAt = at }
        isTroubled = true
    }

    /// Whether the power failed during the last calls.
    func checkPower() throws {
        guard let at = powerLossAt, storage.calls.count > at else { return }
        losePower()
        try die("the power fails")
    }

    private func losePower() {
        storage.crash(using: &random)
        powerLossAt = nil
    }

    /// The host is gone, and everything that was on its way with it; after a while it comes up again.
    func die(_ why: String) throws {
        note(why)
        crashes += 1
        if let at = powerLossAt, storage.calls.count > at { losePower() }
        host = nil
        storage.restart()
        powerLossAt = nil
        clients = [:]
        messages = []
        for index in collectors.indices { collectors[index].disconnect() }
        for index in providers.indices { disconnectProvider(index) }
        unnoticed = []
        let downMs = Int64.random(in: 0...[10, 500, 5000].randomElement(using: &random)!, using: &random)
        monotonicMs += downMs
        wallMs += downMs
        if !isEnding, random.chance(10) { wallMs += Int64.random(in: -3000...3000, using: &random) }
        try bringUp(options: isEnding ? LaunchOptions() : someOptions())
    }

    private func someOptions() -> LaunchOptions {
        var options = LaunchOptions()
        options.isOperating = random.chance(30)
        options.newLaunch = launches < 4 && random.chance(12)
        return options
    }

    /// Ends cleanly: what was read is finished and answered first.
    func stop() throws {
        guard let host else { return }
        isStopping = false
        while host.hasJobs || host.hasNotes {
            try disk()
            guard self.host === host else { return }
            try hear()
            guard self.host === host else { return }
        }
        let unanswered = clients
        guard unanswered.isEmpty else { throw Verdict("stopped without answering \(unanswered)") }
        try die("the host has stopped")
    }

    /// Brings a host up, whatever it takes.
    func bringUp(options: LaunchOptions) throws {
        var options = options
        if !isEnding, random.chance(15) { plan(.powerLoss, within: 40) }
        for _ in 0..<20 {
            do {
                let host = try makeHost(options)
                powerLossAt = powerLossAt.flatMap { storage.calls.count > $0 ? nil : $0 }
                return try came(up: host)
            } catch let verdict as Verdict {
                throw verdict
            } catch {
                note("does not come up: \(error)")
                let text = "\(error)"
                if let at = powerLossAt, storage.calls.count > at {
                    losePower()
                } else if text.contains("can't begin in `operating`") {
                    options.isOperating = false
                } else if text.contains("full") {
                    storage.capacityBytes = .max
                    storage.restart()
                } else if isTroubled {
                    storage.restart()
                    isTroubled = false
                } else {
                    throw Verdict("the host does not come up: \(text)")
                }
            }
        }
        throw Verdict("the host does not come up")
    }

    private func makeHost(_ options: LaunchOptions) throws -> SimulatedHost {
        var own = SplitMix64(seed: random.next())
        return try SimulatedHost(
            storage: storage, journal: journal, engine: configuration, options: options,
            historyRotateBytes: historyRotateBytes, now: now, random: { own.next() })
    }

    private func came(up host: SimulatedHost) throws {
        self.host = host
        isTroubled = powerLossAt != nil
        isStopping = false
        let status = host.engine.status
        let isNewLaunch = launch != status.launch
        note("comes up \(status.state) \(status.seq), \(isNewLaunch ? "a new launch" : "the same launch")")
        if isNewLaunch {
            launches += 1
            if wasKilled {
                // Nothing of what it was told before counts.
                for index in producers.indices { producers[index].restart(&random) }
            }
        }
        launch = status.launch
        if isNewLaunch { wasKilled = false }
        try judge.came(up: status.state, isNewLaunch: isNewLaunch, now)
    }
}
