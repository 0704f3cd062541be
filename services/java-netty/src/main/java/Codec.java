import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;

/** The codec of the workload person: JSON, by Jackson's data binding. */
final class Codec {
    static final String MEDIA_TYPE = "application/json";

    private static final JsonMapper MAPPER = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            // A missing number would be 0, and what comes behind the value would not be read.
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            // Otherwise characters beyond U+FFFF are written as escapes.
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .build();

    private Codec() {}

    /** A message, encoded anew. */
    static ByteBuf encode(Object message) throws IOException {
        return Unpooled.wrappedBuffer(MAPPER.writeValueAsBytes(message));
    }

    /** The message that the bytes hold; the exception is what is wrong with them. */
    static <T> T decode(InputStream bytes, Class<T> type) throws IOException {
        T message = MAPPER.readValue(bytes, type);
        if (message == null) {
            throw new IOException("`null` is no message");
        }
        return message;
    }
}
