import Testing
@testable import http_collector
