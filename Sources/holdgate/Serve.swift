/// Runs a host.
enum ServeCommand {
    static func run(_ arguments: [String]) -> Int32 { 2 }
}
