import HoldgateClient
import Testing

@testable import http_gateway

@Suite struct MetricsTests {
    private var metrics: Metrics {
        var metrics = Metrics()
        metrics.add("up", .gauge, "1 if \"it\" is up\\", 1)
        metrics.add("none", .gauge, "left out", nil)
        metrics.add(
            "things", .counter, "Things",
            [
                Metrics.Sample(
                    labels: [Metrics.Label("a", "x\"y\\z\n"), Metrics.Label("b", "é")], value: 2.5),
                Metrics.Sample(labels: [], value: 9_007_199_254_740_992),
            ])
        metrics.add(
            "it", .info, "What it is", [Metrics.Sample(labels: [Metrics.Label("v", "1")], value: 1)])
        metrics.addHistogram(
            "took_seconds", "How long", bounds: [500, 1_000_000], counts: [1, 2, 3], sum: 7_000_000,
            scale: 1e-6)
        return metrics
    }

    @Test func prometheusReadsItsOwnForm() {
        #expect(
            metrics.text(.prometheus) == """
                # HELP up 1 if "it" is up\\\\
                # TYPE up gauge
                up 1
                # HELP things_total Things
                # TYPE things_total counter
                things_total{a="x\\"y\\\\z\\n",b="é"} 2.5
                things_total 9007199254740992
                # HELP it_info What it is
                # TYPE it_info gauge
                it_info{v="1"} 1
                # HELP took_seconds How long
                # TYPE took_seconds histogram
                took_seconds_bucket{le="0.0005"} 1
                took_seconds_bucket{le="1.0"} 3
                took_seconds_bucket{le="+Inf"} 6
                took_seconds_sum 7
                took_seconds_count 6

                """)
    }

    @Test func openMetricsNamesFamiliesWithoutSuffixesAndSaysTheEnd() {
        #expect(
            metrics.text(.openMetrics) == """
                # HELP up 1 if \\"it\\" is up\\\\
                # TYPE up gauge
                up 1
                # HELP things Things
                # TYPE things counter
                things_total{a="x\\"y\\\\z\\n",b="é"} 2.5
                things_total 9007199254740992
                # HELP it What it is
                # TYPE it info
                it_info{v="1"} 1
                # HELP took_seconds How long
                # TYPE took_seconds histogram
                took_seconds_bucket{le="0.0005"} 1
                took_seconds_bucket{le="1.0"} 3
                took_seconds_bucket{le="+Inf"} 6
                took_seconds_sum 7
                took_seconds_count 6
                # EOF

                """)
    }

    @Test(
        arguments: [
            (nil, Metrics.Format.prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
            ("application/openmetrics-text; version=1.0.0,text/plain;q=0.5", .openMetrics),
        ] as [(String?, Metrics.Format)])
    func theFormIsTheOneAskedFor(accept: String?, format: Metrics.Format) {
        #expect(Metrics.Format(accept: accept) == format)
    }
}
