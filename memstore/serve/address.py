"""Where the server is: for which hosts and origins it answers."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Address:
    """Where the server listens, and under which URL it is reached.

    Args:
        host: The address that it listens at.
        port: The port.
        public_url: The URL of the proxy before it; None where clients reach it directly.

    Raises:
        ValueError: The URL is none of a host alone, or it listens beyond loopback without one of https.
    """

    host: str
    port: int
    public_url: str | None = None

    def __post_init__(self) -> None:
        if self.public_url is not None:
            parts = urlsplit(self.public_url)
            if (
                parts.scheme not in ("http", "https")
                or not parts.hostname
                or parts.port == 0  # which also refuses one that is no number
                or "@" in parts.netloc
                or parts.path.strip("/")
                or parts.query
                or parts.fragment
            ):
                raise ValueError("a public URL is http(s)://HOST or http(s)://HOST:PORT, without a path")
        if not is_loopback(self.host) and not self.secure:
            raise ValueError(
                "beyond loopback it needs an https --public-url, and the proxy with that name before it"
            )

    @property
    def secure(self) -> bool:
        """Whether clients reach it by https."""
        return self.public_url is not None and urlsplit(self.public_url).scheme == "https"

    @property
    def url(self) -> str:
        """The URL of the pages, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.public_url is None:
            return f"http://{host}:{self.port}"
        parts = urlsplit(self.public_url)
        # As browsers write it in Host and Origin.
        return f"{parts.scheme}://{parts.netloc.lower().removesuffix(':443' if self.secure else ':80')}"

    @property
    def hosts(self) -> frozenset[str]:
        """The values of `Host` that are answered: a name that somebody resolves to this server isn't."""
        own = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        return frozenset({urlsplit(self.url).netloc, *(own if is_loopback(self.host) else ())})

    def origins(self, host: str) -> frozenset[str]:
        """The values of `Origin` that a request to a host may have."""
        return frozenset({f"{'https' if self.secure else 'http'}://{host.lower()}"})

    @property
    def cookie(self) -> str:
        """The name of the session's cookie; cookies ignore ports, so it has the port."""
        return "__Host-memstore" if self.secure else f"memstore-{self.port}"


def is_loopback(host: str) -> bool:
    """Tells whether an address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
