"""The contents and the cost of the blog's pages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prejoin import Call, Client, Embedded, StreamConsumer, StreamHandlers, keep_fresh

from blog.entities import User
from blog.repository import BlogRepository
from blog.schema import SCHEMA, TABLE
from pages import author_page, connect, front_page, post_page, remark, write_site
from sample import comment, publish, register, sample, write

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture
def calls() -> list[Call]:
    return []


@pytest.fixture
def blog(calls: list[Call]) -> Iterator[BlogRepository]:
    with Embedded() as engine:
        db = Client(SCHEMA, TABLE, engine, observe=calls.append)
        db.create_table()
        yield BlogRepository(db)


@pytest.fixture
def ann(blog: BlogRepository) -> User:
    return register(blog, "Ann Lee")


def text_of(found: str | None) -> str:
    assert found is not None
    return found


def test_a_post_with_its_comments_is_one_query(blog: BlogRepository, ann: User, calls: list[Call]) -> None:
    post_id = publish(blog, write(blog, ann, "On trees", "Trees are old."))
    for number in range(50):
        comment(blog, post_id, ann, f"comment {number}")
    calls.clear()
    page = text_of(post_page(blog, post_id))
    assert [(call.operation, call.index) for call in calls] == [("Query", "")]
    assert "<h1>On trees</h1>\n<p>Trees are old.</p>" in page
    assert "<h2>Comments: 50</h2>" in page
    assert page.index("comment 0<") < page.index("comment 49<")


def test_page_has_more_than_a_hundred_comments(blog: BlogRepository, ann: User) -> None:
    post_id = publish(blog, write(blog, ann, "On trees", "Trees are old."))
    for number in range(205):
        comment(blog, post_id, ann, f"comment {number}")
    page = text_of(post_page(blog, post_id))
    assert page.count("<b>Ann Lee</b>: comment ") == 205
    assert "<h1>On trees</h1>" in page


def test_draft_or_missing_post_has_no_page(blog: BlogRepository, ann: User) -> None:
    assert post_page(blog, write(blog, ann, "Secret", "Nobody knows.")) is None
    assert post_page(blog, "01KFZS3155W9EHM4Y052A2NAB0") is None


def test_drafts_are_on_no_page(blog: BlogRepository, ann: User, tmp_path: Path) -> None:
    publish(blog, write(blog, ann, "On trees", "Trees are old."))
    write(blog, ann, "Secret", "Nobody knows.")
    assert write_site(blog, tmp_path) == 3
    pages = [path.read_text("utf-8") for path in tmp_path.iterdir()]
    assert not [page for page in pages if "Secret" in page or "Nobody knows" in page]
    assert [row.title for row in blog.author_own_list(ann.user_id)] == ["Secret", "On trees"]


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><b>", "&amp;"]
)
def test_user_input_is_escaped_everywhere(blog: BlogRepository, evil: str, tmp_path: Path) -> None:
    writer = register(blog, evil, f"https://example.com/{evil}")
    post_id = publish(blog, write(blog, writer, evil, f"{evil}\n\n{evil}"))
    comment(blog, post_id, writer, evil)
    write_site(blog, tmp_path)
    for path in tmp_path.iterdir():
        page = path.read_text("utf-8")
        assert evil not in page.replace("&amp;amp;", "")
        assert page.count("<title>") == page.count("</title>") == 1
        assert page.count("<img") == page.count("https://example.com/")


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,<b>", "//example.com/x.png"])
def test_picture_needs_a_web_address(blog: BlogRepository, ann: User, address: str) -> None:
    post_id = publish(blog, write(blog, ann, "On trees", "Trees are old."))
    comment(blog, post_id, register(blog, "Bob", address), "Hi")
    (found,) = blog.newest_comments_of_post(post_id)
    assert remark(found) == "<p><b>Bob</b>: Hi</p>"


def test_front_page_lists_newest_posts_of_all_authors(blog: BlogRepository, ann: User) -> None:
    publish(blog, write(blog, ann, "Older", ""))
    publish(blog, write(blog, register(blog, "Bob"), "Newer", ""))
    page = front_page(blog)
    assert page.index("Newer") < page.index("Older")


def test_author_page_lists_all_posts(blog: BlogRepository, ann: User) -> None:
    for number in range(25):
        publish(blog, write(blog, ann, f"Post {number}.", ""))
    page = text_of(author_page(blog, ann.user_id))
    assert [f"Post {number}." in page for number in range(25)] == [True] * 25
    assert page.count("<a href=") == 25


def test_stream_updates_names_on_pages(tmp_path: Path) -> None:
    engine = Embedded(tmp_path / "blog.db")
    blog = BlogRepository(Client(SCHEMA, TABLE, engine))
    blog.db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    ann = register(blog, "Ann Lee")
    post_id = publish(blog, write(blog, ann, "On trees", "Trees are old."))
    comment(blog, post_id, ann, "Hi")
    blog.change_name_or_picture(ann.user_id, name="Ann Smith")
    assert "<b>Ann Lee</b>" in text_of(post_page(blog, post_id))
    handlers = StreamHandlers(SCHEMA)  # in Lambda: the handler of the function
    keep_fresh(handlers, blog.db)
    StreamConsumer(engine, TABLE, handlers).run()
    assert "<b>Ann Smith</b>" in text_of(post_page(blog, post_id))


def test_links_of_the_site_exist(blog: BlogRepository, tmp_path: Path) -> None:
    sample(blog)
    assert write_site(blog, tmp_path) == 5
    names = {path.name for path in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        linked = {part.partition('"')[0] for part in path.read_text("utf-8").split('href="')[1:]}
        assert linked <= names
        assert linked


def test_the_command_writes_the_site(tmp_path: Path) -> None:
    given = [sys.executable, "pages.py", str(tmp_path / "public"), "--db", str(tmp_path / "blog.db"), "--sample"]
    done = subprocess.run(given, cwd=HERE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"5 pages in {tmp_path / 'public'}\n"
    assert "Keys &amp; indexes" in (tmp_path / "public" / "index.html").read_text("utf-8")


def test_blog_on_a_server(prejoin_url: str, tmp_path: Path) -> None:
    blog = connect(endpoint=prejoin_url)
    sample(blog)
    assert write_site(blog, tmp_path) == 5
    blog.db.close()
