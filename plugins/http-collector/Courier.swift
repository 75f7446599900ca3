import HTTPClient
import HoldgateClient
import KeyFiles
import Platform

/// Does what the sender says: owns the connection to the receiver, on a thread of its own. The plugin's thread tells it of
/// the host meanwhile, so that heartbeats go on and a kill is heard while a receiver lets wait.
final class Courier: Sendable {
    /// Redirects that one post may follow.
    private static let maxRedirects = 5
    private static let idleMs = 60_000

    private let options: Options
    private let plugin: Plugin
    private let sender: Locked<Sender>
    private let isStopped = Locked(false)
    /// Something has changed.
    private let wake: EventFD
    /// The post under way is to be broken off.
    private let cancel: EventFD

    init(_ options: Options, _ plugin: Plugin) throws {
        self.options = options
        self.plugin = plugin
        sender = Locked(Sender(options.limits, compresses: options.compresses))
        wake = try EventFD()
        cancel = try EventFD()
    }

    // MARK: The plugin's thread

    func attached(_ status: HostStatus, cursor: JournalSeq?) {
        let isKilled = status.state == .killed
        let isOther = sender.withLock { $0.attached(status.launch, cursor: cursor, isKilled: isKilled) }
        if isOther { cancel.signal() }
        wake.signal()
    }

    func detached() { sender.withLock { $0.detached() } }

    func killed() {
        sender.withLock { $0.killed() }
        cancel.signal()
        wake.signal()
    }

    func take(_ deliveries: [Delivery]) {
        for delivery in deliveries {
            let events = Event.all(of: delivery)
            let launch = delivery.header.launch
            for effect in sender.withLock({ $0.take(events, of: launch) }) {
                if case .acknowledge(let through, let launch, let rejects) = effect {
                    plugin.acknowledge(through: through, of: launch, rejects: rejects)
                }
            }
        }
        wake.signal()
    }

    /// Makes `run` return at once. Any thread.
    func stop() {
        isStopped.withLock { $0 = true }
        cancel.signal()
        wake.signal()
    }

    // MARK: Its own thread

    /// Posts until stopped.
    func run() throws {
        var client = try HTTPClient(options.http)
        var gzip = try Gzip()
        var reporter = Reporter()
        while true {
            // Emptied before it is asked what there is to do: nothing that is signalled later is missed.
            cancel.drain()
            wake.drain()
            if isStopped.withLock({ $0 }) { return }
            let nowMs = Clock.monotonicMs()
            switch sender.withLock({ $0.next(nowMs: nowMs) }) {
            case .idle: _ = wake.wait(timeoutMs: Self.idleMs)
            case .wait(let untilMs): _ = wake.wait(timeoutMs: Int(max(0, untilMs - nowMs)))
            case .post(let post):
                guard let verdict = send(post, &client, &gzip) else { continue }
                let (nowMs, random) = (Clock.monotonicMs(), UInt64.random(in: 0 ... .max))
                let effects = sender.withLock { $0.answered(post, verdict, nowMs: nowMs, random: random) }
                for effect in effects { perform(effect, &reporter, nowMs) }
            }
        }
    }

    /// Nil: it was broken off.
    private func send(_ post: Sender.Post, _ client: inout HTTPClient, _ gzip: inout Gzip) -> Verdict? {
        var token: String?
        if let path = options.tokenFile {
            // Read each time: a new one is taken at once.
            do throws(KeyFileError) {
                token = try SecretFile.read(path)
            } catch {
                return .later("the token can't be read: \(error)")
            }
        }
        let plain = post.body
        let isCompressed = post.isCompressed && plain.count > Sender.Post.compressedBytes
        let key = post.key(options.name, plain)
        var request = HTTPRequest(
            url: options.url,
            headers: post.headers(options, token: token, key: key, isCompressed: isCompressed),
            body: isCompressed ? gzip.compress(plain) : plain)
        do throws(HTTPError) {
            var response = try client.perform(request, cancel: cancel)
            for _ in 0..<Self.maxRedirects {
                guard let target = followed(response, from: request.url) else { break }
                request.url = target
                response = try client.perform(request, cancel: cancel)
            }
            return Verdict(response, isCompressed: isCompressed, secret: token, wallMs: Clock.wallMs())
        } catch {
            switch error {
            case .cancelled: return nil
            case .failed(let reason), .settings(let reason): return .later(Verdict.clean(reason, bytes: 300))
            }
        }
    }

    /// Where the post is to go instead.
    private func followed(_ response: HTTPResponse, from url: String) -> String? {
        guard options.followsSameOrigin, response.status == 307 || response.status == 308,
            let target = response.redirect, let there = WebAddress(target), let here = WebAddress(url),
            there.isSameOrigin(as: here), !there.hasCredentials
        else { return nil }
        return target
    }

    private func perform(_ effect: Sender.Effect, _ reporter: inout Reporter, _ nowMs: Int64) {
        switch effect {
        case .acknowledge(let through, let launch, let rejects):
            plugin.acknowledge(through: through, of: launch, rejects: rejects)
        case .report(let report):
            if let line = reporter.line(report, nowMs: nowMs) { HTTPCollector.log(line) }
        }
    }
}
