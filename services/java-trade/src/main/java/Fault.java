/** Why a call was not carried out; nothing has changed. The message is for people. */
@SuppressWarnings("serial")
final class Fault extends Exception {
    /** What is wrong: its status over HTTP, and its code over SOAP. */
    enum Kind {
        /** The request. */
        WRONG(400),
        /** The password. */
        DENIED(401),
        /** There is no such user, symbol or holding. */
        MISSING(404),
        /** There is such a user. */
        EXISTS(409),
        /** Another transaction was in the way: the client may ask again. */
        AGAIN(503),
        /** The database failed. */
        BROKEN(500);

        final int status;

        Kind(int status) {
            this.status = status;
        }

        String code() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }

        /** Whether the client is to blame. */
        boolean isOfTheClient() {
            return this != AGAIN && this != BROKEN;
        }
    }

    final Kind kind;

    /** It is an answer like others, so nobody reads its trace of the stack. */
    Fault(Kind kind, String message) {
        super(message, null, false, false);
        this.kind = kind;
    }

    // What every transport and database says alike

    static Fault noUser(String user) {
        return new Fault(Kind.MISSING, "there is no user \"" + user + "\"");
    }

    static Fault noStock(String symbol) {
        return new Fault(Kind.MISSING, "there is no stock \"" + symbol + "\"");
    }

    static Fault noHolding(String user, long holding) {
        return new Fault(Kind.MISSING, "the user \"" + user + "\" has no holding " + holding);
    }

    static Fault noHolding(String user, String symbol, long quantity) {
        String lot = quantity + " \"" + symbol + "\"";
        return new Fault(Kind.MISSING, "the user \"" + user + "\" has no holding of " + lot);
    }

    static Fault wrongPassword(String user) {
        return new Fault(Kind.DENIED, "the password is not that of the user \"" + user + "\"");
    }

    static Fault userExists(String user) {
        return new Fault(Kind.EXISTS, "the user \"" + user + "\" is there already");
    }
}
