import Glibc
import Testing

@testable import HoldgateHost

@Suite struct EnvironmentTests {
    private let here: String = {
        let path = getcwd(nil, 0)
        defer { free(path) }
        return path.map { String(cString: $0) } ?? ""
    }()

    private func variables(control: [String], plugin: [String] = []) -> [String: String] {
        let bound = Sockets.Bound(
            control: control, stream: ["ipc://@stream"], ingest: ["ipc:///run/ingest"], plugin: plugin)
        let nobodyAsked = AccessControl(keys: nil, plugins: PluginKeys(directory: "/nonexistent"))
        return PluginEnvironment(Host.Endpoints(bound), nobodyAsked).variables
    }

    /// A plugin starts in its own folder.
    @Test func aRelativePathIsFromTheHostsFolder() {
        let found = variables(
            control: ["ipc://run/control"], plugin: ["tcp://127.0.0.1:1", "ipc://run/plugin"])
        #expect(found["HOLDGATE_CONTROL"] == "ipc://\(here)/run/control")
        #expect(found["HOLDGATE_STREAM"] == "ipc://@stream")
        #expect(found["HOLDGATE_INGEST"] == "ipc:///run/ingest")
        #expect(found["HOLDGATE_PLUGIN"] == "tcp://127.0.0.1:1")
    }

    @Test func anAddressWithinTheProcessIsNoneOfAPlugins() {
        #expect(variables(control: ["inproc://control"])["HOLDGATE_CONTROL"] == nil)
        #expect(
            variables(control: ["inproc://control", "tcp://127.0.0.1:1"])["HOLDGATE_CONTROL"]
                == "tcp://127.0.0.1:1")
    }
}
