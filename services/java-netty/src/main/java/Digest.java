import java.nio.charset.StandardCharsets;

/** FNV-1a, 64 bits, over every field of a message in the order of the model. */
final class Digest {
    private long state = 0xcbf29ce484222325L;

    /** The digits of what was added. */
    String hex() {
        return String.format("%016x", state);
    }

    /** Adds texts, each with its end. */
    void add(String... texts) {
        for (String text : texts) {
            for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
                add(b);
            }
            addEnd();
        }
    }

    private void add(int number) {
        add(String.valueOf(number));
    }

    private void addEnd() {
        add((byte) '\n');
    }

    private void add(byte b) {
        state = (state ^ (b & 0xff)) * 0x100000001b3L;
    }

    void add(Person person) {
        Person.Name name = person.name();
        Person.Location location = person.location();
        Person.Picture picture = person.picture();
        add(person.id(), name.title(), name.first(), name.last(), person.gender());
        add(location.street(), location.city(), location.state());
        add(location.postCode());
        add(person.email());
        if (picture == null) {
            addEnd();
        } else {
            add(picture.large(), picture.medium(), picture.thumbnail());
        }
    }

    void add(Person.PersonList list) {
        list.persons().forEach(this::add);
        add(list.count());
    }

    void add(Person.LinkList list) {
        for (Person.Link link : list.links()) {
            add(link.p1());
            add(link.p2());
        }
        add(list.count());
    }
}
