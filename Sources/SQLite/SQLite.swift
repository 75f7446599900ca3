// SQLite, for plugins that keep records: one connection, statements with values, transactions.
import CSQLite
import Glibc

/// A call of SQLite that failed.
public struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
    public let call: String
    public let code: Int32
    public let message: String
    public var description: String { "\(call): \(message) (SQLite error \(code))" }
}

/// One connection to one database file, used by one thread.
public final class SQLite {
    public enum Value: Hashable, Sendable {
        case int(Int64)
        case text(String)
    }

    private let raw: OpaquePointer

    /// Opens the file, and makes it where it is missing. No other process may have it open.
    public init(_ path: String) throws(SQLiteError) {
        var raw: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let status = sqlite3_open_v2(path, &raw, flags, nil)
        guard let raw, status == SQLITE_OK else {
            let message = raw.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(raw)
            throw SQLiteError(call: "open \(path)", code: status, message: message)
        }
        self.raw = raw
        // The lock is kept from the first write on; a commit returns once it is on disk.
        for pragma in ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"] {
            try run("PRAGMA \(pragma)")
        }
    }

    deinit { sqlite3_close_v2(raw) }

    /// Runs one statement; a row is a value a column.
    @discardableResult
    public func run(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> [[Value]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(raw, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw error(sql)
        }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() {
            guard bind(value, Int32(index + 1), statement) == SQLITE_OK else { throw error(sql) }
        }
        var rows: [[Value]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(row(statement))
            case SQLITE_DONE: return rows
            default: throw error(sql)
            }
        }
    }

    /// All that `body` writes, or nothing.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            _ = try? run("ROLLBACK")
            throw error
        }
    }

    private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer) -> Int32 {
        switch value {
        case .int(let number): sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    // SQLite copies (SQLITE_TRANSIENT). An empty text has no address of its own.
                    sqlite3_bind_text(
                        statement, index, bytes.baseAddress ?? UnsafePointer(bitPattern: 1),
                        Int32(bytes.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
                }
            }
        }
    }

    private func row(_ statement: OpaquePointer) -> [Value] {
        (0..<sqlite3_column_count(statement)).map { column in
            if sqlite3_column_type(statement, column) == SQLITE_INTEGER {
                return .int(sqlite3_column_int64(statement, column))
            }
            guard let text = sqlite3_column_text(statement, column) else { return .text("") }
            let count = Int(sqlite3_column_bytes(statement, column))
            return .text(
                String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        }
    }

    private func error(_ call: String) -> SQLiteError {
        SQLiteError(
            call: call, code: sqlite3_extended_errcode(raw), message: String(cString: sqlite3_errmsg(raw)))
    }
}

extension SQLite.Value {
    public var asInt: Int64? { if case .int(let number) = self { number } else { nil } }
    public var asText: String? { if case .text(let text) = self { text } else { nil } }
}
