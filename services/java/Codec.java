import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;

/** The codec of the workload person over HTTP: JSON, by Jackson. Thrift's are its own. */
final class Codec {
    static final String MEDIA_TYPE = "application/json";

    /** README.md has why the defaults are not enough. */
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private Codec() {}

    static byte[] write(Object message) throws IOException {
        return JSON.writeValueAsBytes(message);
    }

    /** Reads a message. The exception's text is one line without quotes, and says what is wrong with the bytes. */
    static <M> M read(byte[] body, Class<M> type) throws IOException {
        try {
            M message = JSON.readValue(body, type);
            if (message == null) {
                throw new IOException("null is no message");
            }
            return message;
        } catch (JsonProcessingException e) {
            throw new IOException(e.getOriginalMessage().replaceAll("[\"\\\\\\p{Cntrl}]+", " "), e);
        }
    }
}
