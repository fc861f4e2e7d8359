package org.cordalab.bridge.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class KeptIdsTest {

    private static final Duration RETENTION = Duration.ofMinutes(1);

    private final AtomicLong now = new AtomicLong();
    private final KeptIds kept = new KeptIds(RETENTION, KeptIds.MAX_IDS, now::get);

    @Test
    void givesIdsBackInTheOrderOfTheirExpiry() {
        kept.adopt("first");
        kept.keep("second", "f");
        now.incrementAndGet();
        kept.keep("first", "f");
        assertThat(kept.takeExpired()).isEmpty();

        now.set(RETENTION.toNanos());
        assertThat(kept.takeExpired()).contains("second");
        assertThat(kept.takeExpired()).isEmpty();
        now.incrementAndGet();
        assertThat(kept.takeExpired()).contains("first");
    }

    @Test
    void countsTheIdsWhoseRetentionHasEnded() {
        kept.adopt("first");
        kept.adopt("second");
        now.set(1);
        kept.adopt("third");
        assertThat(kept.expired(10)).isZero();

        now.set(RETENTION.toNanos());
        assertThat(kept.expired(10)).isEqualTo(2);
        assertThat(kept.expired(1)).isEqualTo(1);
        assertThat(kept.size()).isEqualTo(3);
    }

    @Test
    void removesFasterTheMoreIdsWait() {
        assertThat(ClientIdCleaner.pauseUnderLoad(0)).hasMillis(100);
        assertThat(ClientIdCleaner.pauseUnderLoad(50)).hasMillis(50);
        assertThat(ClientIdCleaner.pauseUnderLoad(950)).hasMillis(5);
    }

    @Test
    void doesNotForgetTheArgumentsOfAStartThatItFindsOnTheNode() {
        kept.keep("c1", "f");
        kept.adopt("c1");

        assertThat(kept.find("c1").orElseThrow().fingerprint()).contains("f");
    }

    @Test
    void asksForTheIdsThatItHadNoRoomForOnceHalfOfTheOthersHaveGone() {
        for (int i = 0; i <= KeptIds.MAX_IDS; i++) {
            kept.keep("c" + i, "f");
        }

        assertThat(kept.find("c" + KeptIds.MAX_IDS)).isEmpty();
        assertThat(kept.hasOverflowed()).isTrue();
        for (int i = 0; i < KeptIds.MAX_IDS / 2; i++) {
            assertThat(kept.hasRoomAgain()).isFalse();
            kept.forget("c" + i);
        }
        assertThat(kept.hasRoomAgain()).isTrue();

        kept.expectAll();
        assertThat(kept.hasRoomAgain()).isFalse();
    }
}
