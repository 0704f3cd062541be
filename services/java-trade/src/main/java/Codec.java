import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;

/** JSON, by Jackson. */
final class Codec {
    static final String MEDIA_TYPE = "application/json";

    /** README.md has why the defaults are not enough. */
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .withCoercionConfig(
                    LogicalType.Integer, config -> config.setCoercion(CoercionInputShape.String, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail))
            .withCoercionConfig(
                    LogicalType.Textual, config -> config.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
            .build();

    private Codec() {}

    static byte[] write(Object record) throws IOException {
        return JSON.writeValueAsBytes(record);
    }

    /** Reads what a body says, whatever its media type. */
    static <R> R read(byte[] body, Class<R> type) throws IOException, Fault {
        try {
            R request = JSON.readValue(body, type);
            if (request == null) {
                throw new Fault(Fault.Kind.WRONG, "the body cannot be read: null is no object");
            }
            return request;
        } catch (JsonProcessingException e) {
            throw new Fault(Fault.Kind.WRONG, "the body cannot be read: " + e.getOriginalMessage());
        }
    }
}
