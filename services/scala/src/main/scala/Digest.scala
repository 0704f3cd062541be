package weigh

import weighbridge.person.v1 as protobuf

import java.nio.charset.StandardCharsets.UTF_8

/** FNV-1a, 64 bits, over every field of a message in the order of the model. */
final class Digest:
  private var state = 0xcbf29ce484222325L

  /** The digits of what was added. */
  def hex: String = f"$state%016x"

  /** Adds texts, each with its end. */
  def add(texts: String*): Unit = texts.foreach { text =>
    val bytes = text.getBytes(UTF_8)
    var at = 0
    while at < bytes.length do
      addByte(bytes(at))
      at += 1
    addEnd()
  }

  private def add(number: Int): Unit = add(number.toString)

  private def addEnd(): Unit = addByte('\n')

  private def addByte(byte: Byte): Unit = state = (state ^ (byte & 0xff)) * 0x100000001b3L

  // The model's own messages

  def add(person: Model.Person): Unit =
    val Model.Person(id, name, gender, location, email, picture) = person
    add(id, name.title, name.first, name.last, gender, location.street, location.city, location.state)
    add(location.postCode)
    add(email)
    picture.fold(addEnd())(picture => add(picture.large, picture.medium, picture.thumbnail))

  def add(list: Model.PersonList): Unit =
    list.persons.foreach(person => add(person))
    add(list.count)

  def add(list: Model.PersonLinkList): Unit =
    list.links.foreach { link =>
      add(link.p1)
      add(link.p2)
    }
    add(list.count)

  // Those of Protocol Buffers

  def add(person: protobuf.Person): Unit =
    val (name, location) = (person.getName, person.getLocation)
    add(person.id, name.title, name.first, name.last, person.gender, location.street, location.city, location.state)
    add(location.postCode)
    add(person.email)
    person.picture.fold(addEnd())(picture => add(picture.large, picture.medium, picture.thumbnail))

  def add(list: protobuf.PersonList): Unit =
    list.persons.foreach(person => add(person))
    add(list.count)

  def add(list: protobuf.PersonLinkList): Unit =
    list.links.foreach { link =>
      add(link.getP1)
      add(link.getP2)
    }
    add(list.count)

/** How every field of a message is read into a digest. */
trait Fields[M]:
  def addTo(digest: Digest, message: M): Unit
