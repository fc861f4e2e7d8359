"""Checks of the user's own CorDapps, on jars that are made here."""

import struct
import zipfile
from pathlib import Path

import pytest

from corda_lab.lab import cordapps
from corda_lab.lab.cordapps import CONTRACT_INTERFACES, class_parents, find_problems, parse_manifest, platform_version

CONTRACT = "net/corda/core/contracts/Contract"
CORDAPP = "Manifest-Version: 1.0\nCordapp-Workflow-Name: Mine\nTarget-Platform-Version: 4\nMin-Platform-Version: {}\n"


def class_file(name: str, parent: str, *interfaces: str, java: int = 8) -> bytes:
    """A class file as far as its parents: constant pool, access flags, this, super, interfaces."""
    pool, numbers, count = b"", {}, 0
    for text in (name, parent, *interfaces):
        encoded = text.encode()
        pool += b"\x01" + struct.pack(">H", len(encoded)) + encoded + b"\x07" + struct.pack(">H", count + 1)
        numbers[text] = count + 2
        count += 2
    # A number of eight bytes takes two places of the pool.
    pool += b"\x05" + bytes(8)
    count += 2
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 44 + java, count + 1) + pool
    own = [numbers[one] for one in interfaces]
    return head + struct.pack(f">HHHH{len(own)}H", 0x21, numbers[name], numbers[parent], len(own), *own)


def jar(path: Path, manifest: str | None, **classes: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        if manifest is not None:
            archive.writestr("META-INF/MANIFEST.MF", manifest)
        for name, content in classes.items():
            archive.writestr(f"com/example/{name}.class", content)
    return path


def contract(name: str) -> bytes:
    return class_file(f"com/example/{name}", "java/lang/Object", "java/io/Serializable", CONTRACT)


def findings(*paths: Path, version: str = "4.5", lab: dict[str, str] | None = None) -> list[str]:
    return [problem.finding for problem in find_problems(paths, version, lab or {})]


def test_a_sound_cordapp_passes(tmp_path: Path) -> None:
    one = jar(tmp_path / "one.jar", CORDAPP.format(7), OneContract=contract("OneContract"))
    two = jar(tmp_path / "two.jar", CORDAPP.format(4), TwoContract=contract("TwoContract"))
    assert findings(one, two) == []


def test_a_cordapp_of_the_older_form_passes(tmp_path: Path) -> None:
    assert findings(jar(tmp_path / "old.jar", "Name: Mine\nTarget-Platform-Version: 4\n")) == []


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_what_is_no_jar_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.jar"
    path.write_bytes(content)
    (found,) = findings(path)
    assert found.startswith(f"{path}: is not a jar")


@pytest.mark.parametrize("manifest", [None, "Manifest-Version: 1.0\n"])
def test_a_library_is_no_cordapp(tmp_path: Path, manifest: str | None) -> None:
    (found,) = findings(jar(tmp_path / "library.jar", manifest))
    assert "library.jar: is not a CorDapp" in found


def test_a_jar_with_a_flow_or_a_contract_is_a_cordapp_whatever_its_manifest_says(tmp_path: Path) -> None:
    """Builds without Corda's Gradle plugin leave the entries out, and a node of 4.10 loads such a jar all the same."""
    flow = class_file("com/example/Start", "com/example/Base")
    base = class_file("com/example/Base", "net/corda/core/flows/FlowLogic")
    plain = "Manifest-Version: 1.0\n"
    assert findings(jar(tmp_path / "flows.jar", plain, Start=flow, Base=base)) == []
    assert findings(jar(tmp_path / "contracts.jar", plain, One=contract("One"))) == []


def test_corda_3_takes_a_jar_for_a_cordapp_whatever_its_manifest_says(tmp_path: Path) -> None:
    assert findings(jar(tmp_path / "plain.jar", "Manifest-Version: 1.0\n"), version="3.3") == []
    (found,) = findings(jar(tmp_path / "new.jar", CORDAPP.format(4)), version="3.3")
    assert "needs platform version 4, but Corda 3.3 has 3" in found


def test_a_newer_platform_is_refused_with_the_version_that_has_it(tmp_path: Path) -> None:
    path = jar(tmp_path / "new.jar", CORDAPP.format(8))
    (problem,) = find_problems([path], "4.5", {})
    assert problem.finding.endswith("needs platform version 8, but Corda 4.5 has 7")
    assert "CORDA_VERSION=4.6 or newer" in problem.remedy
    assert findings(path, version="4.6") == []
    (beyond,) = find_problems([jar(tmp_path / "beyond.jar", CORDAPP.format(140))], "4.10", {})
    assert "CORDA_VERSION" not in beyond.remedy
    assert "is not a number" in findings(jar(tmp_path / "odd.jar", CORDAPP.format("four")))[0]


def test_classes_for_a_newer_java_are_refused_with_both_versions(tmp_path: Path) -> None:
    flow = class_file("com/example/Flow", "java/lang/Object", java=17)
    path = jar(tmp_path / "new.jar", CORDAPP.format(4), Old=contract("Old"), Flow=flow)
    (found,) = findings(path, version="4.10")
    assert "new.jar: is built for Java 17, but Corda 4.10 runs on Java 8" in found
    assert findings(path, version="4.12") == [], "a version that the lab does not know"


def test_classes_that_only_a_newer_java_looks_at_are_accepted(tmp_path: Path) -> None:
    path = jar(tmp_path / "both.jar", CORDAPP.format(4), One=contract("One"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("META-INF/versions/9/com/example/One.class", class_file("One", "java/lang/Object", java=9))
        archive.writestr("module-info.class", class_file("module-info", "java/lang/Object", java=9))
        archive.writestr("com/example/Cut.class", b"\xca\xfe")
    assert findings(path) == []


def test_the_same_contract_in_two_jars_is_refused(tmp_path: Path) -> None:
    one = jar(tmp_path / "one.jar", CORDAPP.format(4), A=contract("A"))
    two = jar(tmp_path / "two.jar", CORDAPP.format(4), A=contract("A"), B=contract("B"))
    (found,) = findings(one, two)
    assert found == f"{two}: contains the contract com.example.A, which is also in one.jar"


def test_a_contract_of_the_lab_itself_is_refused(tmp_path: Path) -> None:
    own = cordapps.lab_contract_classes()
    assert own["org/cordalab/contracts/IouContract"].endswith("IouContract.java")
    copy = tmp_path / "copy.jar"
    with zipfile.ZipFile(copy, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", CORDAPP.format(4))
        name = "org/cordalab/contracts/IouContract"
        archive.writestr(f"{name}.class", class_file(name, "java/lang/Object", CONTRACT))
    (found,) = findings(copy, lab=own)
    assert "which is also in the lab's own CorDapp (cordapps/contracts/" in found


def test_the_same_file_twice_is_refused_once(tmp_path: Path) -> None:
    one = jar(tmp_path / "one.jar", CORDAPP.format(4), A=contract("A"))
    two = tmp_path / "two.jar"
    two.write_bytes(one.read_bytes())
    assert findings(one, two) == [f"{two}: is the same file as one.jar"]


def test_a_contract_by_its_parent_is_a_contract(tmp_path: Path) -> None:
    classes = {
        "Base": contract("Base"),
        "Child": class_file("com/example/Child", "com/example/Base"),
        "Other": class_file("com/example/Other", "java/lang/Object"),
    }
    read = cordapps.read_jar(jar(tmp_path / "family.jar", CORDAPP.format(4), **classes))
    assert read.contracts == {"com/example/Base", "com/example/Child"}


def test_reads_the_parents_of_a_class_file() -> None:
    assert class_parents(contract("A")) == {"java/lang/Object", "java/io/Serializable", CONTRACT}
    assert CONTRACT in CONTRACT_INTERFACES
    assert class_parents(b"no class") == frozenset()
    assert class_parents(contract("A")[:40]) == frozenset()


def test_reads_a_manifest_with_lines_that_go_on() -> None:
    text = b"Manifest-Version: 1.0\r\nCordapp-Contract-Name: A rather lo\r\n ng name\r\n\r\nName: a/A.class\r\nX: 1\r\n"
    assert parse_manifest(text) == {"Manifest-Version": "1.0", "Cordapp-Contract-Name": "A rather long name"}


@pytest.mark.parametrize(
    ("version", "platform"),
    [("3.3", 3), ("4.1", 4), ("4.5", 7), ("4.10", 12), ("4.8.11", 10), ("4.99", None), ("5", None)],
)
def test_knows_the_platform_version(version: str, platform: int | None) -> None:
    assert platform_version(version) == platform


def test_other_settings_are_other_cordapps(tmp_path: Path) -> None:
    jar(tmp_path / "one.jar", CORDAPP.format(4))
    (tmp_path / "config").mkdir()
    marks = {cordapps.fingerprint(tmp_path / "none"), cordapps.fingerprint(tmp_path)}
    for text in ("limit = 5", "limit = 6"):
        (tmp_path / "config" / "one.conf").write_text(text, encoding="utf-8")
        marks.add(cordapps.fingerprint(tmp_path))
    assert len(marks) == 4
