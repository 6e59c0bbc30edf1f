"""Who calls a fake AWS: access keys, roles, and web identity tokens that are good for temporary ones."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests.clouds.aws.wire import Refusal

ACCOUNT: Final = "111122223333"
"""Of the users that tests begin with."""
_HOUR: Final = datetime.timedelta(hours=1)
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_EXPIRED: Final = {
    "ec2": Refusal("RequestExpired", "Request has expired."),
    "servicequotas": Refusal("ExpiredTokenException", "The security token included in the request is expired"),
    "sts": Refusal("ExpiredToken", "The security token included in the request is expired", 403),
}
_UNKNOWN: Final = {
    "ec2": Refusal("AuthFailure", "AWS was not able to validate the provided access credentials", 401),
    "servicequotas": Refusal("UnrecognizedClientException", "The security token included in the request is invalid."),
    "sts": Refusal("InvalidClientTokenId", "The security token included in the request is invalid.", 403),
}


class Caller(NamedTuple):
    """Who has signed a request."""

    account: str
    arn: str


@dataclass(frozen=True, slots=True)
class Key:
    """An access key. One that was issued for a role has a session token."""

    caller: Caller
    id: str
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(30))
    token: str | None = None


@dataclass(slots=True)
class Role:
    """Who may assume it has to say this external id, if there is one."""

    external_id: str | None = None


class Credentials:
    """Keys and roles; `roles` and `web_tokens` may be changed at any time."""

    def __init__(self) -> None:
        self.roles: dict[str, Role] = {}
        """By ARN; any identity may assume them, and any web identity token that is accepted."""
        self.web_tokens: set[str] = set()
        """Those that are accepted."""
        self._keys: dict[str, Key] = {}
        self._expired: set[str] = set()
        self._issued_secrets: set[str] = set()

    # --- what tests say ---------------------------------------------------------------------------------------------

    def user(self, name: str = "admin", account: str = ACCOUNT) -> Key:
        """A new key of a user."""
        return self._add("AKIA", Caller(account, f"arn:aws:iam::{account}:user/{name}"))

    def role(self, name: str, account: str = ACCOUNT, *, external_id: str | None = None) -> str:
        """A new role. Returns its ARN."""
        arn = f"arn:aws:iam::{account}:role/{name}"
        self.roles[arn] = Role(external_id)
        if external_id is not None:
            self._issued_secrets.add(external_id)
        return arn

    def web_token(self) -> str:
        """A new web identity token, which is accepted."""
        token = secrets.token_urlsafe(60)
        self._issued_secrets.add(token)
        self.web_tokens.add(token)
        return token

    def expire(self) -> None:
        """Every session so far is over, before its time."""
        self._expired |= {key.id for key in list(self._keys.values()) if key.token is not None}

    def key_ids(self) -> frozenset[str]:
        """Those of all keys so far."""
        return frozenset(self._keys)

    def secrets(self) -> frozenset[str]:
        """Everything so far that nobody else may see, ids of keys included."""
        return frozenset(self._issued_secrets)

    # --- what requests say ------------------------------------------------------------------------------------------

    def caller(self, service: str, key_id: str, token: str | None) -> Caller:
        """Who it is. Raises Refusal."""
        key = self._keys.get(key_id)
        if key is None or key.token != token:
            raise _UNKNOWN[service]
        if key_id in self._expired:
            raise _EXPIRED[service]
        return key.caller

    def assume(self, caller: Caller, parameters: Mapping[str, str]) -> dict[str, Any]:
        """What AssumeRole answers. Raises Refusal."""
        arn = parameters["RoleArn"]
        role = self.roles.get(arn)
        if role is None or role.external_id not in {None, parameters.get("ExternalId")}:
            what = f"User: {caller.arn} is not authorized to perform: sts:AssumeRole on resource: {arn}"
            raise Refusal("AccessDenied", what, 403)
        return self._session(arn, parameters["RoleSessionName"])

    def assume_by_web_identity(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """What AssumeRoleWithWebIdentity answers. Raises Refusal."""
        if parameters["WebIdentityToken"] not in self.web_tokens:
            raise Refusal("ExpiredTokenException", "Token expired: current date/time must be before the expiration")
        if parameters["RoleArn"] not in self.roles:
            raise Refusal("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", 403)
        return self._session(parameters["RoleArn"], parameters["RoleSessionName"])

    # ----------------------------------------------------------------------------------------------------------------

    def _session(self, role: str, name: str) -> dict[str, Any]:
        account, _, role_name = role.removeprefix("arn:aws:iam::").partition(":role/")
        arn = f"arn:aws:sts::{account}:assumed-role/{role_name}/{name}"
        key = self._add("ASIA", Caller(account, arn), token=secrets.token_urlsafe(90))
        return {
            "Credentials": {
                "AccessKeyId": key.id,
                "SecretAccessKey": key.secret,
                "SessionToken": key.token,
                "Expiration": datetime.datetime.now(datetime.UTC) + _HOUR,
            },
            "AssumedRoleUser": {"AssumedRoleId": f"AROA{''.join(_letters())}:{name}", "Arn": arn},
        }

    def _add(self, prefix: str, caller: Caller, token: str | None = None) -> Key:
        key = Key(caller, prefix + "".join(_letters()), token=token)
        self._keys[key.id] = key
        self._issued_secrets |= {each for each in (key.id, key.secret, key.token) if each is not None}
        return key


def _letters() -> Iterator[str]:
    return (secrets.choice(_ALPHABET) for _ in range(16))
