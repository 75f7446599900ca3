import Journal
import Wire

/// The jobs on the small files beside the log. Only the journal's thread touches them.
package struct SmallFiles: Sendable {
    package let deadLetters: DeadLetters
    package let configuration: InternalConfiguration

    package init(deadLetters: DeadLetters, configuration: InternalConfiguration) {
        self.deadLetters = deadLetters
        self.configuration = configuration
    }

    /// Removes them; the log's own purge comes behind it.
    package var purge: JournalJob {
        job { files throws(JournalError) in
            try files.deadLetters.purge()
            try files.configuration.erase()
        }
    }

    package func replaceConfiguration(with object: JSONValue) -> JournalJob {
        job { files throws(JournalError) in try files.configuration.replace(with: object) }
    }

    package func bury(_ letters: [DeadLetter]) -> JournalJob {
        job { files throws(JournalError) in try files.deadLetters.append(letters) }
    }

    private func job(_ body: @escaping @Sendable (SmallFiles) throws(JournalError) -> Void) -> JournalJob {
        .perform { () throws(JournalError) in try body(self) }
    }
}
