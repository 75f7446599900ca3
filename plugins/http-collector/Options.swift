import HTTPClient
import HoldgateClient

/// What the command line and the environment say.
struct Options: Hashable {
    struct Header: Hashable {
        let name: String
        let value: String
    }

    var url = ""
    var endpoint: String
    /// Nil: the host asks for none.
    var credentials: Credentials?
    var name = "http-collector"
    var types = ["*"]
    var windowBytes = 8 << 20
    var limits = Sender.Limits()
    var compresses = true
    /// Redirects with 307 and 308 to the same server are followed.
    var followsSameOrigin = false
    var tokenFile: String?
    var headers: [Header] = []
    var http = HTTPSettings()

    enum Request: Hashable {
        case run(Options)
        case help
        /// What is wrong.
        case usage(String)
    }

    /// The URL without its query, which may be a secret.
    var shownURL: String { url.split(separator: "?", maxSplits: 1).first.map(String.init) ?? url }

    static let help = """
        http-collector: posts a Holdgate host's events to a URL, in order, as CloudEvents batches.

        usage: http-collector --url URL [--name NAME] [--types TYPES] [--plugin ADDRESS] …

          --url URL             http:// or https://, without user and password (default: $HTTP_COLLECTOR_URL)
          --name NAME           the collector's name at the host, which begins with its key's name
                                (default: http-collector, or KEY/http-collector)
          --types TYPES         event types or prefixes ending in *, parted by commas (default: *)
          --plugin ADDRESS      the host's plugin endpoint
                                (default: $HOLDGATE_PLUGIN, or tcp://127.0.0.1:5573)
          --key FILE            the key that the host knows it by (default: $HOLDGATE_KEY_FILE, or none)
          --host-key KEY        the host's public key, if it is not in that file (default: $HOLDGATE_HOST_KEY)
          --window-bytes BYTES  how much may be on its way unacknowledged (default: 8388608)

        What is posted:
          --batch-events COUNT  of one post, at most (default: 1000)
          --batch-bytes BYTES   of one post's body before it is compressed, unless one event alone has more
                                (default: 1048576)
          --compress gzip|none  bodies of more than 1024 bytes (default: gzip)
          --token-file FILE     its one line goes with each post as `Authorization: Bearer`; nobody else may
                                read the file (default: $HTTP_COLLECTOR_TOKEN_FILE, or none)
          --header 'NAME: TEXT' goes with each post; may be given more than once

        How it is posted:
          --ca-file FILE        PEM: who vouches for the receiver (default: the system's)
          --client-cert FILE    PEM: what is shown to the receiver
          --client-key FILE     PEM, without a passphrase (default: in the certificate's file)
          --proxy URL|environment
                                (default: none, whatever the environment says)
          --redirects refuse|same-origin
                                same-origin follows 307 and 308 to the same scheme, host and port
                                (default: refuse)
          --connect-timeout-ms MS, --timeout-ms MS
                                for the connection, and for a whole post (default: 10000, 60000)
          --low-speed-bytes BYTES, --low-speed-ms MS
                                breaks off what has fewer bytes a second for so long (default: 1, 30000)

        When it is refused:
          --backoff-ms MS, --max-backoff-ms MS
                                between attempts: twice as long each time (default: 200, 30000)
          --max-retry-after-ms MS
                                the longest wait that a receiver may ask for (default: 300000)
          --max-rejects COUNT   events refused one after another become dead letters, but no more than that;
                                0: any number (default: 1000)

          --control, --stream   taken and not used, so that all plugins can be started alike
          --help                this text

        For example:
          http-collector --url https://example.org/events --token-file /run/keys/events.token

        """
}
