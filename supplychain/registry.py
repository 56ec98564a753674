"""Publish the function's image in a registry with its referrers: `python -m supplychain.registry HOST:PORT/NAME`.

This pushes the image of `make image`. It attaches the bill of materials and the provenance as referrers (OCI 1.1):
manifests with the image as `subject`. Then it reads everything back by the digest of the image. The registry is on this
machine, uses plain HTTP and needs no account.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from supplychain.dockerfile import foreign_images
from supplychain.engine import run
from supplychain.image import FUNCTION, name_of, revision
from supplychain.locks import ROOT
from supplychain.sbom import PACKWISE
from supplychain.standins import stand_in

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["BILL", "PROVENANCE", "Repository", "attach_documents", "image_faults", "main", "provenance", "publish"]

BILL = "application/vnd.cyclonedx+json"
PROVENANCE = "application/vnd.in-toto+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_NOTHING = "application/vnd.oci.empty.v1+json"

Json = dict[str, Any]


class Repository(NamedTuple):
    """The repository `name` in the registry at `host`. It uses the registry's HTTP API."""

    host: str
    name: str

    def manifest(self, reference: str) -> bytes | None:
        """Return the manifest with this tag or digest, or None if the registry lacks it."""
        return self._get(f"manifests/{reference}")

    def blob(self, digest: str) -> bytes:
        """Return the blob with this digest. Exit if the registry lacks the blob or sends another one."""
        found = self._get(f"blobs/{digest}")
        if found is None or digest_of(found) != digest:
            sys.exit(f"{self.host}/{self.name} does not have the blob {digest}")
        return found

    def attach(self, subject: str, kind: str, content: bytes) -> str:
        """Attach `content` as a referrer to the manifest `subject`, and return the digest of the referrer's
        manifest.
        """
        of = self.manifest(subject)
        if of is None:
            sys.exit(f"{self.host}/{self.name} does not have the manifest {subject}")
        described = {"mediaType": json.loads(of)["mediaType"], "digest": subject, "size": len(of)}
        manifest: Json = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "artifactType": kind,
            "config": self._push_blob(_NOTHING, b"{}"),
            "layers": [self._push_blob(kind, content)],
            "subject": described,
        }
        data = _bytes(manifest)
        digest = digest_of(data)
        answer = self._put(f"manifests/{digest}", data, _MANIFEST)
        # If a registry keeps no list of referrers, its clients keep the list under this tag.
        if answer.headers["OCI-Subject"] is None:
            entry = {"mediaType": _MANIFEST, "digest": digest, "size": len(data), "artifactType": kind}
            others = [one for one in self._referrers_by_tag(subject) if one["digest"] != digest]
            listed = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [*others, entry]}
            self._put(f"manifests/{_tag_of(subject)}", _bytes(listed), _INDEX)
        return digest

    def referrers(self, subject: str) -> list[Json]:
        """Return the descriptors of the manifests with this subject."""
        found = self._get(f"referrers/{subject}")
        return self._referrers_by_tag(subject) if found is None else json.loads(found)["manifests"]

    def _referrers_by_tag(self, subject: str) -> list[Json]:
        found = self.manifest(_tag_of(subject))
        return [] if found is None else json.loads(found)["manifests"]

    def _push_blob(self, kind: str, content: bytes) -> Json:
        digest = digest_of(content)
        if self._get(f"blobs/{digest}") is None:
            place = self._send("POST", self._url("blobs/uploads/"), b"").headers["Location"]
            url = place if place.startswith("http") else f"http://{self.host}{place}"
            self._send("PUT", f"{url}{'&' if '?' in url else '?'}digest={digest}", content, "application/octet-stream")
        return {"mediaType": kind, "digest": digest, "size": len(content)}

    def _get(self, path: str) -> bytes | None:
        try:
            with self._send("GET", self._url(path)) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def _put(self, path: str, content: bytes, kind: str) -> HTTPResponse:
        return self._send("PUT", self._url(path), content, kind)

    def _url(self, path: str) -> str:
        return f"http://{self.host}/v2/{self.name}/{path}"

    def _send(self, method: str, url: str, content: bytes | None = None, kind: str = "") -> HTTPResponse:
        headers = {"Content-Type": kind} if kind else {"Accept": f"{_MANIFEST}, {_INDEX}, */*"}
        request = urllib.request.Request(url, content, headers, method=method)  # noqa: S310
        # The proxy in the environment reaches other machines, but not this one.
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)


def digest_of(content: bytes) -> str:
    """Return the digest of a blob or a manifest: `sha256:` and its SHA-256 in hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def publish(image: str, repository: Repository, tag: str) -> str:
    """Push an image of the store to the registry, and return the digest of its manifest."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "digest"
        where = f"docker://{repository.host}/{repository.name}:{tag}"
        run("podman", "push", "--quiet", "--tls-verify=false", f"--digestfile={file}", image, where)
        return file.read_text(encoding="utf-8").strip()


def attach_documents(repository: Repository, digest: str) -> None:
    """Attach the bill of materials of packwise's wheel, and the provenance, to the image."""
    repository.attach(digest, BILL, PACKWISE.bill.read_bytes())
    repository.attach(digest, PROVENANCE, _bytes(provenance(repository.name, digest)))


def provenance(name: str, digest: str) -> Json:
    """Return an in-toto statement (SLSA 1.0) with the commit and the base images of the Dockerfile, without a time."""
    bases = [
        {
            "uri": f"docker://{image}",
            "annotations": {"stands-in": str(stand_in(image)).removeprefix("container-image://")},
        }
        for image in foreign_images(ROOT / "Dockerfile")
        if stand_in(image) is not None
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:packwise:dockerfile",
                "externalParameters": {"target": "function"},
                "resolvedDependencies": [{"uri": "git+packwise", "digest": {"gitCommit": revision()}}, *bases],
            },
            "runDetails": {"builder": {"id": "urn:packwise:make-image"}},
        },
    }


def image_faults(repository: Repository, digest: str) -> list[str]:
    """Return the faults of the image with this digest in the registry: of its labels, its referrers, or
    their contents.
    """
    manifest = repository.manifest(digest)
    if manifest is None or digest_of(manifest) != digest:
        return [f"the registry does not have the manifest {digest}, or it has another digest"]
    config = json.loads(repository.blob(json.loads(manifest)["config"]["digest"]))["config"]
    found = [
        f"label {label}: must be {value}; got {config['Labels'].get(label)}"
        for label, value in _labels().items()
        if config["Labels"].get(label) != value
    ]
    wanted = {BILL: PACKWISE.bill.read_bytes(), PROVENANCE: _bytes(provenance(repository.name, digest))}
    there = {one["artifactType"]: one["digest"] for one in repository.referrers(digest)}
    for kind, content in wanted.items():
        data = repository.manifest(there[kind]) if kind in there else None
        if data is None:
            found.append(f"no referrer {kind}; the image has {', '.join(sorted(there)) or 'none'}")
        elif (own := json.loads(data))["subject"]["digest"] != digest:
            found.append(f"referrer {kind}: must have the subject {digest}; got {own['subject']['digest']}")
        elif repository.blob(own["layers"][0]["digest"]) != content:
            found.append(f"referrer {kind}: the content differs from the file of this commit")
    return found


def _labels() -> dict[str, str]:
    version = name_of(FUNCTION).rpartition(":")[2]
    names = {"title": "packwise", "licenses": "Apache-2.0", "version": version, "revision": revision()}
    return {f"org.opencontainers.image.{name}": value for name, value in names.items()}


def _tag_of(digest: str) -> str:
    return digest.replace(":", "-")


def _bytes(value: Json) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def main() -> None:
    """Push the image, attach its documents and verify everything. Print the name with which clients run the image."""
    host, _, name = sys.argv[1].partition("/")
    repository, image = Repository(host, name), name_of(FUNCTION)
    digest = publish(image, repository, image.rpartition(":")[2])
    attach_documents(repository, digest)
    found = image_faults(repository, digest)
    for line in found:
        sys.stderr.write(f"{host}/{name}: {line}\n")
    sys.stdout.write(f"{host}/{name}@{digest}\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
