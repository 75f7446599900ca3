import HoldgateClient

/// Where consent to one purpose stands.
enum ConsentState: String, Hashable, Sendable, CaseIterable {
    /// Nobody has decided yet.
    case undecided
    case given
    /// Given, and set aside for a while.
    case paused
    /// Given for a time that is over.
    case expired
    case denied
    case withdrawn

    /// Of several purposes behind one gate the strictest rules: the one that allows least.
    var strictness: Int {
        switch self {
        case .given: 0
        case .paused: 1
        case .expired: 2
        case .undecided: 3
        case .denied: 4
        case .withdrawn: 5
        }
    }

    /// What becomes of it; nil where the verb makes no sense, and `whyNot` says so.
    func after(_ verb: ConsentVerb) -> ConsentState? {
        switch (self, verb) {
        // Whoever may decide may always consent, and always withdraw.
        case (_, .give): .given
        case (_, .withdraw): .withdrawn
        case (.undecided, .deny), (.expired, .deny), (.denied, .deny): .denied
        case (.given, .deny), (.paused, .deny), (.withdrawn, .deny): nil
        case (.given, .pause), (.paused, .pause): .paused
        case (.undecided, .pause), (.expired, .pause), (.denied, .pause), (.withdrawn, .pause): nil
        }
    }

    /// What to do instead, where `after` is nil.
    var whyNot: String {
        switch self {
        case .undecided, .expired: "there is no consent to pause: give or deny it"
        case .given, .paused: "consent was given: pause or withdraw it"
        case .denied: "consent was denied, there is nothing to pause"
        case .withdrawn: "consent was withdrawn: only a new consent changes that"
        }
    }
}

/// What can be decided. The raw value is the command on the wire.
enum ConsentVerb: String, Hashable, Sendable, CaseIterable {
    case give
    case deny
    case pause
    case withdraw
}
