package org.cordalab.bridge.metrics;

import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** A metrics page and its media type. */
public record MetricsPage(String contentType, byte[] body) {

    private static final ExpositionFormats FORMATS = ExpositionFormats.init();
    private static final int USUAL_BYTES = 32 * 1024;

    /**
     * Writes all metrics of a registry.
     *
     * @param accept the request's Accept header, or null; selects Prometheus text or OpenMetrics
     */
    public static MetricsPage of(PrometheusRegistry registry, String accept) {
        ExpositionFormatWriter writer = FORMATS.findWriter(accept);
        var body = new ByteArrayOutputStream(USUAL_BYTES);
        try {
            writer.write(body, registry.scrape());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new MetricsPage(writer.getContentType(), body.toByteArray());
    }
}
