import Lifecycle

/// How many bytes wait between two places in the journal, and since when, to within one bucket.
///
/// A bucket covers consecutive events: at most 64 KiB and 100 ms of them, or one block. After a restart the journal gives one bucket a segment.
public struct QueueMeter: Hashable, Sendable {
    public struct Bucket: Hashable, Sendable {
        public var last: JournalSeq
        /// Bytes ever kept, at the bucket's end.
        public var endBytes: UInt64
        /// When its oldest event arrived.
        public var oldestMs: Int64
        public init(last: JournalSeq, endBytes: UInt64, oldestMs: Int64) {
            self.last = last
            self.endBytes = endBytes
            self.oldestMs = oldestMs
        }
    }

    public static let bucketBytes: UInt64 = 64 << 10
    public static let bucketMs: Int64 = 100
    /// Buckets are dropped from the front as collectors finish; `head` is the first that is in use.
    private var buckets: [Bucket] = []
    private var head = 0
    /// Bytes ever kept before the first bucket.
    private var startBytes: UInt64

    public init(startBytes: UInt64, buckets: [Bucket] = []) {
        self.startBytes = startBytes
        self.buckets = buckets
    }

    private var endBytes: UInt64 { buckets.last?.endBytes ?? startBytes }

    public mutating func add(last: JournalSeq, bytes: UInt64, arrivalMs: Int64) {
        let end = endBytes + bytes
        if head < buckets.count, let open = buckets.last {
            let begin =
                buckets.count >= 2 && head < buckets.count - 1
                ? buckets[buckets.count - 2].endBytes : startBytes
            let isNear = (0..<Self.bucketMs).contains(arrivalMs - open.oldestMs)
            if bytes == 0 || (isNear && open.endBytes - begin < Self.bucketBytes) {
                buckets[buckets.count - 1].last = last
                buckets[buckets.count - 1].endBytes = end
                return
            }
        }
        buckets.append(Bucket(last: last, endBytes: end, oldestMs: arrivalMs))
    }

    /// Forgets what lies at or before `done`.
    public mutating func drop(through done: JournalSeq) {
        while head < buckets.count, buckets[head].last <= done {
            startBytes = buckets[head].endBytes
            head += 1
        }
        if head > 1024, head * 2 > buckets.count {
            buckets.removeFirst(head)
            head = 0
        } else if head == buckets.count {
            buckets.removeAll(keepingCapacity: true)
            head = 0
        }
    }

    /// Bytes of everything that is still counted.
    public var bytes: UInt64 { endBytes - startBytes }

    /// Bytes after `seq`; the bucket that holds it counts whole.
    public func bytes(after seq: JournalSeq) -> UInt64 {
        guard let index = firstBucket(after: seq) else { return 0 }
        return endBytes - (index > head ? buckets[index - 1].endBytes : startBytes)
    }

    /// When the oldest event after `seq` arrived; nil where there is none.
    public func oldestMs(after seq: JournalSeq) -> Int64? {
        firstBucket(after: seq).map { buckets[$0].oldestMs }
    }

    /// The last event after `seq`, in buckets whose oldest event arrived at `arrivedBy` or before; nil for none.
    public func last(after seq: JournalSeq, arrivedBy: Int64) -> JournalSeq? {
        guard var index = firstBucket(after: seq), buckets[index].oldestMs <= arrivedBy else { return nil }
        while index + 1 < buckets.count, buckets[index + 1].oldestMs <= arrivedBy { index += 1 }
        return buckets[index].last
    }

    private func firstBucket(after seq: JournalSeq) -> Int? {
        var low = head
        var high = buckets.count
        while low < high {
            let middle = (low + high) / 2
            if buckets[middle].last > seq { high = middle } else { low = middle + 1 }
        }
        return low < buckets.count ? low : nil
    }
}
