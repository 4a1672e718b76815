"""The agent card: that it is found, what it says, how long it may be kept."""

from email.utils import parsedate_to_datetime

from .answer import BINDINGS, fits, has
from .requirement import ON_CARD, may, must, needs, should


@must("CARD-DISC-001", on=ON_CARD)
async def the_card_is_at_its_well_known_place(peer):
    """An agent's card is found beneath its address, at the path that all agents share."""
    assert peer.card_answer.status == 200 and isinstance(peer.card, dict), peer.card_answer


@must("CARD-STRUCT-001", on=ON_CARD)
async def the_card_is_complete(peer):
    """The card says all that a client has to know before its first message."""
    fits(peer.card, "AgentCard")
    has(peer.card, "name", "description", "version", "supportedInterfaces", "skills")
    has(peer.card, "defaultInputModes", "defaultOutputModes")
    assert "capabilities" in peer.card, peer.card


@must("CARD-PROTO-001", on=ON_CARD)
async def the_card_names_an_interface(peer):
    """The card names at least one interface by which the agent is reached."""
    has(peer.card, "supportedInterfaces")


@must("CARD-PROTO-002", on=ON_CARD)
async def every_interface_says_where_and_how(peer):
    """Each interface has its address, its binding and the version that is spoken there."""
    for interface in peer.card["supportedInterfaces"]:
        fits(interface, "AgentInterface")
        has(interface, "url", "protocolBinding", "protocolVersion")


@must("BIND-FIELD-001", on=ON_CARD)
async def bindings_have_the_protocols_names(peer):
    """A binding of the protocol itself is called by the name that the protocol gave it."""
    named = {interface["protocolBinding"] for interface in peer.card["supportedInterfaces"]}
    assert named <= {*BINDINGS, "GRPC"}, named


@should("CARD-CACHE-001", on=ON_CARD)
async def the_card_says_how_long_it_may_be_kept(peer):
    """The card comes with a `Cache-Control` that has a `max-age`."""
    said = peer.card_answer.headers.get("cache-control", "")
    assert "max-age=" in said, f"cache-control: {said!r}"


@should("CARD-CACHE-002", on=ON_CARD)
async def the_card_has_a_tag_for_its_version(peer):
    """The card comes with an `ETag`."""
    assert peer.card_answer.headers.get("etag"), dict(peer.card_answer.headers)


@may("CARD-CACHE-003", on=ON_CARD)
async def the_card_says_when_it_was_changed(peer):
    """The card may come with a `Last-Modified`, which then is a date."""
    said = peer.card_answer.headers.get("last-modified")
    needs(said, "the card has no Last-Modified")
    parsedate_to_datetime(said)


@must("CARD-SIGN-001", on=ON_CARD)
async def signatures_are_whole(peer):
    """Where a card is signed, every signature is there with what it protects."""
    signatures = peer.card.get("signatures")
    needs(signatures, "the card is not signed")
    for signature in signatures:
        fits(signature, "AgentCardSignature")
        has(signature, "protected", "signature")
