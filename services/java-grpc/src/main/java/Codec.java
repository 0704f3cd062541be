import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.Message;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.protobuf.ProtoUtils;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.function.Function;
import org.apache.avro.Schema;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.DatumWriter;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;
import weighbridge.person.v1.*;

/**
 * A codec of the workload person: its messages, which are persons P, ids I, links L, lists PL and LL and versions V, and
 * how each travels.
 */
record Codec<P, I, L, PL, LL, V>(
        Person.Forms<P, L, PL, LL> forms,
        Function<I, String> id,
        Function<String, V> version,
        Marshaller<P> person,
        Marshaller<I> personId,
        Marshaller<PL> personList,
        Marshaller<LL> linkList,
        Marshaller<?> all,
        Marshaller<?> versionRequest,
        Marshaller<V> versionReply) {

    // JSON

    /** JSON, by Jackson, of the model's own records. README.md has why its defaults are not enough. */
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    static Codec<Person, Person.Id, Person.Link, Person.Persons, Person.Links, Person.Version> json() {
        var forms = new Person.Forms<Person, Person.Link, Person.Persons, Person.Links>(
                person -> person,
                Person.Link::new,
                persons -> new Person.Persons(persons, persons.size()),
                links -> new Person.Links(links, links.size()));
        return new Codec<>(
                forms,
                Person.Id::id,
                Person.Version::new,
                new Json<>(Person.class),
                new Json<>(Person.Id.class),
                new Json<>(Person.Persons.class),
                new Json<>(Person.Links.class),
                new Json<>(Person.Nothing.class),
                new Json<>(Person.Nothing.class),
                new Json<>(Person.Version.class));
    }

    private record Json<M>(Class<M> type) implements Marshaller<M> {
        @Override
        public InputStream stream(M message) {
            try {
                return new ByteArrayInputStream(JSON.writeValueAsBytes(message));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public M parse(InputStream bytes) {
            try {
                return readJson(bytes, type);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Reads a message. The exception's text is one line that says what is wrong with the bytes. */
    static <M> M readJson(InputStream bytes, Class<M> type) throws IOException {
        try {
            M message = JSON.readValue(bytes, type);
            if (message == null) {
                throw new IOException("null is no message");
            }
            return message;
        } catch (JsonProcessingException e) {
            throw new IOException(e.getOriginalMessage().replaceAll("\\p{Cntrl}+", " "), e);
        }
    }

    // Protocol Buffers

    static Codec<weighbridge.person.v1.Person, PersonId, PersonLink, PersonList, PersonLinkList, VersionReply>
            protobuf() {
        var forms = new Person.Forms<weighbridge.person.v1.Person, PersonLink, PersonList, PersonLinkList>(
                Codec::protobufPerson,
                (p1, p2) -> PersonLink.newBuilder().setP1(p1).setP2(p2).build(),
                persons -> PersonList.newBuilder()
                        .addAllPersons(persons)
                        .setCount(persons.size())
                        .build(),
                links -> PersonLinkList.newBuilder()
                        .addAllLinks(links)
                        .setCount(links.size())
                        .build());
        return new Codec<>(
                forms,
                PersonId::getId,
                text -> VersionReply.newBuilder().setText(text).build(),
                protobuf(weighbridge.person.v1.Person.getDefaultInstance()),
                protobuf(PersonId.getDefaultInstance()),
                protobuf(PersonList.getDefaultInstance()),
                protobuf(PersonLinkList.getDefaultInstance()),
                protobuf(ListPersonsRequest.getDefaultInstance()),
                protobuf(VersionRequest.getDefaultInstance()),
                protobuf(VersionReply.getDefaultInstance()));
    }

    private static <M extends Message> Marshaller<M> protobuf(M instance) {
        return ProtoUtils.marshaller(instance);
    }

    private static weighbridge.person.v1.Person protobufPerson(Person person) {
        Person.Name name = person.name();
        Person.Location location = person.location();
        Person.Picture picture = person.picture();
        var message = weighbridge.person.v1.Person.newBuilder()
                .setId(person.id())
                .setName(PersonName.newBuilder()
                        .setTitle(name.title())
                        .setFirst(name.first())
                        .setLast(name.last()))
                .setGender(person.gender())
                .setLocation(Location.newBuilder()
                        .setStreet(location.street())
                        .setCity(location.city())
                        .setState(location.state())
                        .setPostCode(location.postCode()))
                .setEmail(person.email());
        if (picture != null) {
            message.setPicture(Picture.newBuilder()
                    .setLarge(picture.large())
                    .setMedium(picture.medium())
                    .setThumbnail(picture.thumbnail()));
        }
        return message.build();
    }

    // Avro

    /** Avro, of the classes that its compiler makes of services/person/person.avsc. */
    static Codec<avro.Person, avro.PersonId, avro.PersonLink, avro.PersonList, avro.PersonLinkList, avro.VersionReply>
            avro() {
        // Avro makes objects of classes in these packages alone. Its own are in the list without it.
        System.setProperty("org.apache.avro.SERIALIZABLE_PACKAGES", "avro");
        var forms = new Person.Forms<avro.Person, avro.PersonLink, avro.PersonList, avro.PersonLinkList>(
                Codec::avroPerson,
                avro.PersonLink::new,
                persons -> new avro.PersonList(persons, persons.size()),
                links -> new avro.PersonLinkList(links, links.size()));
        return new Codec<>(
                forms,
                avro.PersonId::getId,
                avro.VersionReply::new,
                new Avro<>(avro.Person.getClassSchema()),
                new Avro<>(avro.PersonId.getClassSchema()),
                new Avro<>(avro.PersonList.getClassSchema()),
                new Avro<>(avro.PersonLinkList.getClassSchema()),
                new Avro<>(avro.ListPersonsRequest.getClassSchema()),
                new Avro<>(avro.VersionRequest.getClassSchema()),
                new Avro<>(avro.VersionReply.getClassSchema()));
    }

    private static avro.Person avroPerson(Person person) {
        Person.Name name = person.name();
        Person.Location location = person.location();
        Person.Picture picture = person.picture();
        return new avro.Person(
                person.id(),
                new avro.PersonName(name.title(), name.first(), name.last()),
                person.gender(),
                new avro.Location(location.street(), location.city(), location.state(), location.postCode()),
                person.email(),
                picture == null ? null : new avro.Picture(picture.large(), picture.medium(), picture.thumbnail()));
    }

    /** The bare binary datum. */
    private record Avro<M extends SpecificRecord>(DatumWriter<M> writer, DatumReader<M> reader)
            implements Marshaller<M> {
        Avro(Schema schema) {
            this(new SpecificDatumWriter<>(schema), new SpecificDatumReader<>(schema));
        }

        @Override
        public InputStream stream(M message) {
            var bytes = new ByteArrayOutputStream();
            var encoder = EncoderFactory.get().binaryEncoder(bytes, null);
            try {
                writer.write(message, encoder);
                encoder.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return new ByteArrayInputStream(bytes.toByteArray());
        }

        @Override
        public M parse(InputStream bytes) {
            var decoder = DecoderFactory.get().binaryDecoder(bytes, null);
            try {
                M message = reader.read(null, decoder);
                if (!decoder.isEnd()) {
                    throw new IOException("there are bytes behind the message");
                }
                return message;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
