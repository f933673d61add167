"""Fetching pinned files, against a server on the loopback that also misbehaves."""

import csv
import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from verseir.corpora import openiti_fetch
from verseir.corpora.openiti import read
from verseir.corpora.openiti_fetch import BASE_URL, fetch, fetch_sources, find_local, is_right, read_sources
from verseir.faults import InputFaults, UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = {
    f"0{number}00ShacirMithali.Diwan.JK00000{number}-ara1": (
        f"######OpenITI#\n#META#Header#End#\n# البحر : طويل 1\n# % بيت من ديوان {word} % وشطره الثاني هنا % 2\n" * 40
    ).encode()
    for number, word in enumerate(["أول", "ثان", "ثالث"], start=1)
}
NAMES = sorted(TEXTS)


def path_of(name):
    return f"data/a folder/{name}"


def write_sources(folder, names=NAMES, **changed):
    """A list of sources; ``changed`` replaces the values of columns in the first row."""
    rows = [
        {
            "repository": "OpenITI/0025AH",
            "commit": COMMIT,
            "path": path_of(name),
            "bytes": len(TEXTS[name]),
            "sha256": hashlib.sha256(TEXTS[name]).hexdigest(),
            "kind": "diwan" if name != NAMES[-1] else "anthology",
            "era": "العصر الأندلسي" if name == NAMES[0] else "",
        }
        for name in names
    ]
    rows[0] |= changed
    target = folder / "sources.csv"
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return target


class Server(ThreadingHTTPServer):
    """Serves TEXTS; ``faulty`` maps a file name to the statuses or bodies that its next requests get instead."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = Counter()
        self.faulty = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        self.server.requests[name] += 1
        expected = f"/OpenITI/0025AH/{COMMIT}/" + path_of(name).replace(" ", "%20")
        waiting = self.server.faulty.get(name, [])
        answer = waiting.pop(0) if waiting else TEXTS.get(name, b"") if self.path == expected else 404
        if isinstance(answer, int):
            self.send_error(answer)
            return
        self.send_response(200)
        cut = answer == b"cut"
        body = TEXTS[name] if cut else answer
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def failure(sources, target, url, **options):
    with pytest.raises(UserError) as caught:
        fetch_sources(read_sources(sources, "sources.csv"), target, url, **{"pause": 0, **options})
    return str(caught.value)


def test_files_are_fetched_whole(tmp_path, server):
    paths = fetch(write_sources(tmp_path), tmp_path / "raw", server.url)
    assert [path.name for path in paths] == NAMES
    assert [path.read_bytes() for path in paths] == [TEXTS[name] for name in NAMES]
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == NAMES  # and nothing temporary


def test_files_that_are_right_are_not_fetched_again(tmp_path, server):
    sources = write_sources(tmp_path)
    raw = tmp_path / "raw"
    fetch(sources, raw, server.url)
    (raw / NAMES[1]).write_bytes(TEXTS[NAMES[1]].replace(b"1", b"2"))  # same size, other bytes
    (raw / NAMES[2]).unlink()
    fetch(sources, raw, server.url)
    assert server.requests == {NAMES[0]: 1, NAMES[1]: 2, NAMES[2]: 2}
    assert all((raw / name).read_bytes() == TEXTS[name] for name in NAMES)


def test_wrong_bytes_are_refused_and_not_kept(tmp_path, server):
    server.faulty[NAMES[1]] = [TEXTS[NAMES[1]].replace(b"1", b"2")]
    message = failure(write_sources(tmp_path), tmp_path / "raw", server.url)
    assert message.startswith("1 of 3 OpenITI files could not be fetched")
    assert f"{NAMES[1]}: its sha256 is " in message
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == [NAMES[0], NAMES[2]]
    assert server.requests[NAMES[1]] == 1  # asking again would give the same


def test_longer_file_than_listed_is_refused(tmp_path, server):
    server.faulty[NAMES[0]] = [TEXTS[NAMES[0]] + b"more"]
    assert "more than the" in failure(write_sources(tmp_path), tmp_path / "raw", server.url)


def test_missing_file_is_named_with_both_ways_out(tmp_path, server):
    server.faulty[NAMES[2]] = [404]
    message = failure(write_sources(tmp_path), tmp_path / "raw", server.url)
    assert f"{NAMES[2]}: HTTP 404" in message
    assert "network" in message
    assert "'local'" in message


def test_all_that_fails_is_listed_at_once(tmp_path, server):
    server.faulty = {NAMES[0]: [404], NAMES[2]: [403]}
    message = failure(write_sources(tmp_path), tmp_path / "raw", server.url)
    assert f"{NAMES[0]}: HTTP 404" in message
    assert f"{NAMES[2]}: HTTP 403" in message
    assert NAMES[1] not in message


@pytest.mark.parametrize("trouble", [b"cut", 503, 429])
def test_passing_trouble_is_tried_again(tmp_path, server, trouble):
    server.faulty[NAMES[0]] = [trouble, trouble]
    sources = read_sources(write_sources(tmp_path), "sources.csv")
    fetch_sources(sources, tmp_path / "raw", server.url, pause=0)
    assert server.requests[NAMES[0]] == 3
    assert (tmp_path / "raw" / NAMES[0]).read_bytes() == TEXTS[NAMES[0]]


def test_connection_that_is_always_cut_leaves_no_part(tmp_path, server):
    server.faulty[NAMES[0]] = [b"cut"] * 3
    message = failure(write_sources(tmp_path), tmp_path / "raw", server.url)
    assert f"{NAMES[0]}: the connection was cut" in message
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == NAMES[1:]


def test_unreachable_host_is_not_asked_for_every_file(tmp_path):
    with Server() as closed:
        url = closed.url
    message = failure(write_sources(tmp_path), tmp_path / "raw", url, workers=1)
    assert message.startswith("3 of 3")
    assert message.count("cannot be reached (") == 1
    assert message.count("not tried") == 2


def test_adapter_fetches_once_and_then_reads_without_a_network(tmp_path, server, monkeypatch):
    monkeypatch.setattr(openiti_fetch, "fetch_sources", lambda rows, folder: fetch_sources(rows, folder, server.url))
    write_sources(tmp_path)
    spec = {"adapter": "openiti", "sources": "sources.csv", "select": {"kind": "diwan"}}
    first = read(spec, tmp_path)
    assert [record.poem_id for record in first][:1] == [f"{NAMES[0]}_0001"]
    assert {record.era for record in first} == {"العصر الأندلسي", "العصر العباسي"}  # listed, and by year
    assert first[0].source == f"OpenITI/0025AH@{COMMIT[:10]}:{path_of(NAMES[0])}"
    assert (tmp_path / ".cache" / "openiti" / NAMES[0]).exists()
    assert read(spec, tmp_path) == first
    assert sum(server.requests.values()) == 2


def test_local_folder_is_searched_by_name_and_checked(tmp_path):
    sources = write_sources(tmp_path)
    for number, name in enumerate(NAMES):
        (tmp_path / "mine" / str(number)).mkdir(parents=True)
        (tmp_path / "mine" / str(number) / name).write_bytes(TEXTS[name])
    found = find_local(read_sources(sources, "sources.csv"), tmp_path / "mine", "mine")
    assert [path.name for path in found] == NAMES
    assert len(read({"sources": "sources.csv", "local": "mine"}, tmp_path)) == 120


def test_local_folder_that_lacks_files_is_an_error(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / NAMES[0]).write_bytes(TEXTS[NAMES[0]])
    (tmp_path / "mine" / NAMES[1]).write_bytes(b"another edition")
    write_sources(tmp_path)
    with pytest.raises(UserError) as caught:
        read({"sources": "sources.csv", "local": "mine"}, tmp_path)
    message = str(caught.value)
    assert message.startswith("2 of 3 OpenITI files could not be found in the folder 'mine'")
    assert f"{NAMES[1]}: another version of it" in message
    assert f"{NAMES[2]}: not there" in message


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("repository", "OpenITI"),
        ("commit", "main"),
        ("path", "../../etc/passwd"),
        ("path", "/etc/passwd"),
        ("bytes", "-1"),
        ("sha256", "abc"),
    ],
)
def test_row_that_pins_no_file_is_a_fault(tmp_path, column, value):
    sources = write_sources(tmp_path, **{column: value})
    with pytest.raises(InputFaults) as caught:
        read_sources(sources, "sources.csv")
    (fault,) = caught.value.faults
    assert (fault.file, fault.line, fault.field) == ("sources.csv", 2, column)
    assert value in fault.problem


def test_list_without_rows_columns_or_matches_is_a_fault(tmp_path):
    sources = write_sources(tmp_path)
    for select, problem in [({"kid": "x"}, "no such column"), ({"kind": "x"}, "no row has kind = x")]:
        with pytest.raises(InputFaults, match=problem):
            read_sources(sources, "sources.csv", select)
    with pytest.raises(InputFaults, match="listed twice, first in line 2"):
        read_sources(write_sources(tmp_path, names=[NAMES[0], NAMES[0]]), "sources.csv")
    sources.write_text("repository,commit,path,bytes,sha256\n", encoding="utf-8")
    with pytest.raises(InputFaults, match="lists no file"):
        read_sources(sources, "sources.csv")
    sources.write_text("repository,commit\na/b,c\n", encoding="utf-8")
    with pytest.raises(InputFaults, match="no such column"):
        read_sources(sources, "sources.csv")


def test_project_list_is_valid_and_has_one_edition_of_each_diwan():
    path = Path(__file__).parents[2] / "resources" / "openiti" / "sources.csv"
    diwans = read_sources(path, "sources.csv", {"kind": "diwan"})
    authors = Counter(source.columns["author"] for source in diwans)
    assert len(diwans) == 122
    assert authors.most_common(1)[0][1] == 1
    assert all(source.name.startswith(source.columns["author"]) for source in diwans)
    assert all(source.columns["edition"] in source.name for source in diwans)
    assert BASE_URL.startswith("https://")


def test_size_and_digest_decide_whether_a_file_is_right(tmp_path):
    (source,) = read_sources(write_sources(tmp_path, names=NAMES[:1]), "sources.csv")
    path = tmp_path / "file"
    assert not is_right(source, path)
    path.write_bytes(TEXTS[NAMES[0]])
    assert is_right(source, path)
    path.write_bytes(TEXTS[NAMES[0]] + b"\n")
    assert not is_right(source, path)
