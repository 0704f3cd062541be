import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The workload person: its model, the people file and the operations. {@code picture} is null where there is none. */
record Person(String id, Name name, String gender, Location location, String email, Picture picture) {
    Person {
        require("id", id);
        require("name", name);
        require("gender", gender);
        require("location", location);
        require("email", email);
    }

    record Name(String title, String first, String last) {
        Name {
            require("title", title);
            require("first", first);
            require("last", last);
        }
    }

    record Location(String street, String city, String state, int postCode) {
        Location {
            require("street", street);
            require("city", city);
            require("state", state);
        }
    }

    record Picture(String large, String medium, String thumbnail) {
        Picture {
            require("large", large);
            require("medium", medium);
            require("thumbnail", thumbnail);
        }
    }

    record Link(Person p1, Person p2) {}

    record PersonList(List<Person> persons, int count) {}

    record LinkList(List<Link> links, int count) {}

    /** Refuses what has no value for a required field; numbers are the codec's affair. */
    private static void require(String name, Object value) {
        Objects.requireNonNull(value, () -> "`" + name + "` is missing");
    }

    // People file

    /** The persons that are served, and their links. */
    static final class People {
        private static final String FILE = "people.json";

        private final List<Person> persons;
        private final Map<String, Person> byId = new HashMap<>();
        private final Map<String, List<Link>> links = new HashMap<>();

        /** The people file as it is written, but for what a client creates. */
        private record PeopleFile(List<Person> persons, List<List<Long>> links) {
            PeopleFile {
                require("persons", persons);
                require("links", links);
            }
        }

        /** Reads the people file of a folder; the message of the exception is what is wrong with it. */
        static People read(Path folder) throws IOException {
            try (InputStream text = Files.newInputStream(folder.resolve(FILE))) {
                return new People(Codec.decode(text, PeopleFile.class));
            }
        }

        private People(PeopleFile file) throws IOException {
            persons = file.persons;
            for (Person person : persons) {
                if (person == null || byId.put(person.id, person) != null) {
                    throw new IOException(person == null ? "a person is null" : "two persons have the id " + person.id);
                }
            }
            for (List<Long> pair : file.links) {
                addLink(pair);
            }
        }

        /** Adds a link to those of both of its persons. */
        private void addLink(List<Long> pair) throws IOException {
            List<Person> both = pair == null
                    ? List.of()
                    : pair.stream()
                            .map(String::valueOf)
                            .map(byId::get)
                            .filter(Objects::nonNull)
                            .toList();
            if (both.size() != 2 || pair.size() != 2) {
                throw new IOException("the link " + pair + " does not name two persons");
            }
            Link link = new Link(both.get(0), both.get(1));
            for (Person person : new HashSet<>(both)) {
                links.computeIfAbsent(person.id, absent -> new ArrayList<>()).add(link);
            }
        }

        // Operations

        /** All persons in the order of the file. */
        PersonList listPersons() {
            return new PersonList(persons, persons.size());
        }

        /** The person with that id, null where there is none. */
        Person getPerson(String id) {
            return byId.get(id);
        }

        /** The links with that id on either side, in the order of the file. */
        LinkList getPersonLinks(String id) {
            List<Link> found = links.getOrDefault(id, List.of());
            return new LinkList(found, found.size());
        }
    }
}
