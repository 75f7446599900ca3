/// What the gateway serves, for programs: docs/openapi.json, built in.
enum OpenAPI {
    static let document: [UInt8] = PackageResources.openapi_json
}
