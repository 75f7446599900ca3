// swift-tools-version: 6.0
import PackageDescription

let strict: [SwiftSetting] = [
    .unsafeFlags(["-warnings-as-errors"]),
    .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
    name: "holdgate",
    products: [
        .executable(name: "holdgate", targets: ["holdgate"]),
        .executable(name: "file-collector", targets: ["file-collector"]),
        .executable(name: "state-logger", targets: ["state-logger"]),
        .executable(name: "geofence", targets: ["geofence"]),
        .executable(name: "session", targets: ["session"]),
        .executable(name: "engagement", targets: ["engagement"]),
        .executable(name: "consent-manager", targets: ["consent-manager"]),
        .executable(name: "http-collector", targets: ["http-collector"]),
        .executable(name: "http-gateway", targets: ["http-gateway"]),
        .library(name: "HoldgateClient", targets: ["HoldgateClient"]),
        .library(name: "HoldgateHost", targets: ["HoldgateHost"]),
    ],
    targets: [
        // C, each behind one Swift wrapper.
        .systemLibrary(name: "CZeroMQ"),
        .systemLibrary(name: "CSodium"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CMicroHTTPD"),
        .target(
            name: "CSimdJSON", cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "CPlatform", cSettings: [.unsafeFlags(["-O3"])]),

        // Values: what decides.
        .target(name: "Lifecycle", swiftSettings: strict),
        .target(name: "Ledger", dependencies: ["Lifecycle"], swiftSettings: strict),
        .target(name: "Wire", dependencies: ["Lifecycle", "CSimdJSON"], swiftSettings: strict),
        .target(name: "Access", dependencies: ["Wire"], swiftSettings: strict),
        .target(
            name: "Engine", dependencies: ["Access", "Lifecycle", "Ledger", "Wire"], swiftSettings: strict),

        // Edges: what performs.
        .target(name: "Platform", dependencies: ["CPlatform"], swiftSettings: strict),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"], swiftSettings: strict),
        .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["CMicroHTTPD", "Platform"], swiftSettings: strict),
        .target(
            name: "HTTPClient", dependencies: ["CCurl", "CZlib", "Platform"], swiftSettings: strict),
        .target(
            name: "Journal",
            dependencies: ["Lifecycle", "Ledger", "Wire", "Platform", "CSodium", "CPlatform"],
            swiftSettings: strict),
        .target(
            name: "KeyFiles", dependencies: ["Access", "ZeroMQ", "Platform", "Wire"], swiftSettings: strict),
        .target(
            name: "HoldgateHost",
            dependencies: ["Access", "KeyFiles", "Engine", "Journal", "Wire", "ZeroMQ", "Platform"],
            swiftSettings: strict),
        .target(
            name: "HoldgateClient",
            dependencies: ["KeyFiles", "Lifecycle", "Wire", "ZeroMQ", "Platform", "CSodium"],
            swiftSettings: strict),
        .target(
            name: "PluginCheck", dependencies: ["Lifecycle", "Wire", "ZeroMQ", "Platform"],
            swiftSettings: strict),
        .executableTarget(
            name: "holdgate",
            dependencies: [
                "Access", "HoldgateHost", "HoldgateClient", "Journal", "KeyFiles", "PluginCheck", "Platform",
                "ZeroMQ",
            ],
            swiftSettings: strict),

        // Bundled plugins: processes of their own, which use the client library like anybody's.
        .executableTarget(
            name: "file-collector", dependencies: ["HoldgateClient", "Platform"],
            path: "plugins/file-collector", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "state-logger", dependencies: ["HoldgateClient", "Platform"],
            path: "plugins/state-logger", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "geofence", dependencies: ["HoldgateClient", "Platform"],
            path: "plugins/geofence", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "session", dependencies: ["HoldgateClient", "Platform"],
            path: "plugins/session", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "engagement", dependencies: ["HoldgateClient", "Platform", "SQLite"],
            path: "plugins/engagement", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "consent-manager",
            dependencies: ["HoldgateClient", "Lifecycle", "Platform", "ZeroMQ", "SQLite", "CSodium"],
            path: "plugins/consent-manager", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "http-collector", dependencies: ["HoldgateClient", "HTTPClient", "KeyFiles", "Platform"],
            path: "plugins/http-collector", exclude: ["README.md", "plugin.json"], swiftSettings: strict),
        .executableTarget(
            name: "http-gateway",
            dependencies: ["Access", "CSodium", "HTTPServer", "HoldgateClient", "KeyFiles", "Platform"],
            path: "plugins/http-gateway", exclude: ["README.md", "plugin.json"],
            resources: [.embedInCode("openapi.json")], swiftSettings: strict),

        .testTarget(
            name: "HistoryTests",
            dependencies: ["Journal", "Ledger", "Lifecycle", "Wire", "CSodium", "Simulator"],
            swiftSettings: strict),
        // What tests share: seeded worlds.
        .target(
            name: "Simulator", dependencies: ["Journal", "Ledger", "Lifecycle", "Wire"],
            path: "Tests/Simulator",
            swiftSettings: strict),
        .target(
            name: "Simulation", dependencies: ["HoldgateHost", "Simulator"], path: "Tests/Simulation",
            swiftSettings: strict),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation", "Platform"], path: "Tests/Simulate",
            swiftSettings: strict),
        .testTarget(
            name: "SimulationTests", dependencies: ["Simulation", "Simulator", "HoldgateHost"],
            swiftSettings: strict),
        .testTarget(
            name: "JournalTests",
            dependencies: ["Journal", "Simulator", "Ledger", "Lifecycle", "Wire", "Platform"],
            swiftSettings: strict),
        .target(name: "CMallocCount", path: "Tests/CMallocCount"),
        .testTarget(
            name: "HotPathTests",
            dependencies: ["CMallocCount", "Engine", "Journal", "Ledger", "Lifecycle", "Wire"],
            swiftSettings: strict),
        .testTarget(name: "AccessTests", dependencies: ["Access", "Wire"], swiftSettings: strict),
        .testTarget(
            name: "EngineTests", dependencies: ["Access", "Engine", "Ledger", "Lifecycle", "Wire"],
            swiftSettings: strict),
        .testTarget(name: "LedgerTests", dependencies: ["Ledger", "Lifecycle"], swiftSettings: strict),
        .testTarget(name: "LifecycleTests", dependencies: ["Lifecycle"], swiftSettings: strict),
        .testTarget(name: "WireTests", dependencies: ["Wire", "Lifecycle"], swiftSettings: strict),
        .testTarget(
            name: "PlatformTests", dependencies: ["Platform", "CPlatform"], swiftSettings: strict),
        .testTarget(
            name: "HoldgateClientTests",
            dependencies: [
                "HoldgateClient", "HoldgateHost", "holdgate", "KeyFiles", "ZeroMQ", "Platform", "CSodium",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SessionTests", dependencies: ["session", "HoldgateClient"], swiftSettings: strict),
        .testTarget(
            name: "EngagementTests", dependencies: ["engagement", "HoldgateClient", "SQLite"],
            swiftSettings: strict),
        .testTarget(
            name: "GeofenceTests", dependencies: ["geofence", "HoldgateClient", "Simulator"],
            swiftSettings: strict),
        .testTarget(
            name: "PluginTests",
            dependencies: ["file-collector", "state-logger", "HoldgateClient", "ZeroMQ", "Platform"],
            swiftSettings: strict),
        .testTarget(
            name: "HTTPCollectorTests",
            dependencies: ["http-collector", "HTTPClient", "HoldgateClient", "Simulator"],
            swiftSettings: strict),
        .testTarget(
            name: "ConsentTests", dependencies: ["consent-manager", "HoldgateClient", "SQLite"],
            swiftSettings: strict),
        .testTarget(
            name: "HTTPGatewayTests",
            dependencies: ["http-gateway", "Access", "HTTPServer", "HoldgateClient", "KeyFiles", "Platform"],
            swiftSettings: strict),
        .testTarget(
            name: "HTTPServerTests", dependencies: ["HTTPServer", "Platform"], swiftSettings: strict),
        .testTarget(
            name: "HostConfigurationTests", dependencies: ["HoldgateHost", "Engine", "Wire", "Platform"],
            swiftSettings: strict),
        .testTarget(
            name: "ConnectionTests", dependencies: ["HoldgateHost", "Platform"], swiftSettings: strict),
        .testTarget(
            name: "EmbeddingTests",
            dependencies: ["Access", "HoldgateHost", "HoldgateClient", "KeyFiles", "ZeroMQ"],
            swiftSettings: strict),
        .testTarget(
            name: "SupervisionTests",
            dependencies: ["HoldgateHost", "Access", "KeyFiles", "Wire", "Platform", "ZeroMQ"],
            swiftSettings: strict),
        .testTarget(
            name: "KeyFilesTests", dependencies: ["KeyFiles", "Access", "ZeroMQ", "Platform"],
            swiftSettings: strict),
        .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ", "Platform"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
