import Glibc
import Wire

/// The folder that `plugins` names: one folder a plugin, with a `plugin.json` in it.
struct PluginFolder: Hashable, Sendable {
    /// What one reading found.
    struct Contents {
        var manifests: [PluginManifest] = []
        /// What is wrong, by the folder's name.
        var problems: [(name: String, problem: String)] = []
    }

    static let maxPlugins = 256
    static let manifestName = "plugin.json"

    let path: String

    /// Reads all manifests, by name. Folders without one, and plain files, are none of ours.
    ///
    /// - Throws: what is wrong with the folder itself.
    func read() throws(StartError) -> Contents {
        guard let absolute = realpath(path, nil) else { throw failure() }
        defer { free(absolute) }
        let root = String(cString: absolute)
        var contents = Contents()
        for name in try names() {
            let file = "\(path)/\(name)/\(Self.manifestName)"
            do {
                let bytes = try Configuration.readFile(file)
                contents.manifests.append(
                    try ManifestReader.read(bytes, path: file, directory: "\(root)/\(name)"))
            } catch let error as ConfigurationError {
                contents.problems.append((name, error.description))
            } catch {
                contents.problems.append((name, "\(file): \(error)"))
            }
        }
        return contents
    }

    private func names() throws(StartError) -> [String] {
        guard let folder = opendir(path) else { throw failure() }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix(".") else { continue }
            // One that is there and can't be looked at is a problem, and none that is gone.
            guard
                access("\(path)/\(name)/\(Self.manifestName)", F_OK) == 0
                    || (errno != ENOENT && errno != ENOTDIR)
            else { continue }
            names.append(name)
        }
        guard names.count <= Self.maxPlugins else {
            throw StartError("plugins: \(path) has more than \(Self.maxPlugins) manifests")
        }
        return names.sorted()
    }

    private func failure() -> StartError {
        StartError("plugins: can't read the folder \(path): \(String(cString: strerror(errno)))")
    }
}
