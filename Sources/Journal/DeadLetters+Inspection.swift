import Ledger
import Lifecycle

extension DeadLetters {
    /// The letters that there are, for looking: nothing is written. Nil where there is no file.
    static func readOnly(
        _ storage: any Storage, producers: ProducerTable
    ) throws(JournalError) -> (letters: DeadLetters, tornBytes: UInt64)? {
        let letters = DeadLetters(storage: storage, limit: .max, makeRun: { "" })
        do {
            letters.file = try storage.open(fileName, create: false)
        } catch {
            if error.kind == .missing { return nil }
            throw JournalError(error)
        }
        let end = try letters.read(producers)
        return (letters, end - letters.byteCount)
    }
}
