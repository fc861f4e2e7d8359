package org.cordalab.nodes.traces;

import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.concurrent.TimeUnit;

/** A receiver of OTLP/HTTP in JSON, such as a collector, Jaeger or Tempo. While it is gone, spans for it are dropped. */
final class OtlpEndpoint implements SpanSink {
    private static final int SECONDS_MAX = 5;

    private final String address;

    OtlpEndpoint(String address) {
        this.address = address;
    }

    @Override
    public void write(byte[] request) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
        try {
            connection.setConnectTimeout((int) TimeUnit.SECONDS.toMillis(SECONDS_MAX));
            connection.setReadTimeout((int) TimeUnit.SECONDS.toMillis(SECONDS_MAX));
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", "application/json");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(request.length);
            try (OutputStream body = connection.getOutputStream()) {
                body.write(request);
            }
            if (connection.getResponseCode() / 100 != 2) {
                throw new IOException(address + " answered " + connection.getResponseCode());
            }
        } finally {
            connection.disconnect();
        }
    }
}
