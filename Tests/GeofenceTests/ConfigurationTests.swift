import HoldgateClient
import Testing

@testable import geofence

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws -> Geofences {
        Geofences(configuration: try JSONValue.parse(text))
    }

    @Test func regionsAreMembersByTheirId() throws {
        let fences = try read(
            """
            {"other":1,"geofences":{"hysteresisM":10,"regions":{
              "home":{"latitude":52.5,"longitude":13,"radiusM":150,"note":"kept"},
              "pole":{"latitude":-90,"longitude":180,"radiusM":0.5}}}}
            """)
        #expect(
            fences
                == Geofences(
                    regions: [
                        Region(id: "home", center: GeoPoint(latitude: 52.5, longitude: 13)!, radiusM: 150),
                        Region(id: "pole", center: GeoPoint(latitude: -90, longitude: 180)!, radiusM: 0.5),
                    ], hysteresisM: 10))
        #expect(try read("{}") == Geofences())
    }

    @Test func whatIsWrongIsNamedAndTheRestStands() throws {
        let fences = try read(
            """
            {"geofences":{"hysteresisM":-1,"maxRegions":2,"regions":{
              "a":{"latitude":91,"longitude":0,"radiusM":1},
              "b":{"latitude":0,"longitude":0,"radiusM":0},
              "c":{"latitude":0,"longitude":0,"radiusM":1},
              "d":{"latitude":0,"longitude":0,"radiusM":1},
              "e":{"latitude":0,"longitude":0,"radiusM":1},
              "f":7}}}
            """)
        #expect(fences.regions.keys.sorted() == ["c", "d"])
        #expect(fences.hysteresisM == Geofences.defaultHysteresisM)
        #expect(
            fences.problems == [
                "geofences.hysteresisM is no length in metres",
                "geofences.regions[\"a\"]: needs latitude (-90 to 90) and longitude (-180 to 180)",
                "geofences.regions[\"b\"]: radiusM is no length in metres above 0",
                "geofences.regions[\"e\"]: more than maxRegions (2)",
                "geofences.regions[\"f\"]: needs latitude (-90 to 90) and longitude (-180 to 180)",
            ])
        #expect(try read(#"{"geofences":[]}"#).problems == ["geofences is no object"])
        #expect(try read(#"{"geofences":{"regions":[]}}"#).problems == ["geofences.regions is no object"])
    }

    @Test func readingsAreReadAndOthersRejectedWithAReason() throws {
        func read(_ text: String) throws(Unusable) -> Reading {
            let bytes = Array(text.utf8)
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(Unusable) in
                    try Reading(seq: JournalSeq(7), event: bytes, with: JSONParser())
                }
            }
            return try result.get()
        }
        let whole =
            #"{"type":"location.reading","subject":"a","time":"t","data":{"latitude":1.5,"longitude":-180}}"#
        #expect(
            try read(whole)
                == Reading(
                    seq: JournalSeq(7), subject: "a", time: "t",
                    point: GeoPoint(latitude: 1.5, longitude: -180)!))
        let reasons = [
            (
                #"{"type":"location.reading","data":{"latitude":91,"longitude":0}}"#,
                "data.latitude is 91.0: not within -90 to 90"
            ),
            (
                #"{"type":"location.reading","data":{"latitude":0,"longitude":-180.5}}"#,
                "data.longitude is -180.5: not within -180 to 180"
            ),
            (
                #"{"type":"location.reading","data":{"latitude":"1","longitude":0}}"#,
                "data.latitude is no number"
            ),
            (#"{"type":"location.reading","data":{"latitude":1}}"#, "data.longitude is missing"),
            (#"{"type":"location.reading","data":[1,2]}"#, "data is missing or no object"),
            (#"{"type":"location.reading2","data":{}}"#, "its type is not location.reading"),
        ]
        for (text, reason) in reasons {
            #expect(throws: Unusable(reason: reason)) { try read(text) }
        }
    }

    @Test func flagsBeatTheEnvironment() {
        var options = Options(endpoints: Endpoints())
        options.endpoints.ingest = "tcp://c:3"
        options.endpoints.control = "tcp://b:2"
        options.directory = "d"
        let environment = ["HOLDGATE_INGEST": "tcp://a:1", "HOLDGATE_CONTROL": #"["tcp://b:2"]"#]
        let arguments = ["--ingest", "tcp://c:3", "--stream", "x", "--dir", "d"]
        #expect(Options.parse(arguments) { environment[$0] } == .run(options))
        #expect(Options.parse(["--region"]) { _ in nil } == .usage("unknown argument --region"))
    }
}
