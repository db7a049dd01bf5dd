"""The blog as a static site: `python pages.py public` writes the front page, every post with its comments, and authors.

The table is in blog.db; `--db FILE`, `--endpoint URL` or `--aws` select another location.
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import closing
from html import escape
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from prejoin import AWS, Client, Embedded, Endpoint, Page

from blog.entities import Comment, Post
from blog.repository import BlogRepository
from blog.schema import SCHEMA, TABLE
from sample import sample

T = TypeVar("T")


def front_page(blog: BlogRepository) -> str:
    """The newest posts of all authors: one request."""
    return page("Blog", "<h1>Blog</h1>", *(line(p.post_id, p.title, p.published_at) for p in blog.front_page()))


def post_page(blog: BlogRepository, post_id: str) -> str | None:
    """A post and its comments: one request for every hundred comments. None for a draft."""
    found = blog.post_with_comments(post_id)
    items = list(found.items)
    while found.cursor is not None:
        found = blog.post_with_comments(post_id, after=found.cursor)
        items += found.items
    post = next((one for one in items if isinstance(one, Post)), None)
    if post is None or post.status != "PUBLISHED":
        return None
    comments = [remark(one) for one in items if isinstance(one, Comment)]
    return page(
        post.title,
        f"<h1>{escape(post.title)}</h1>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in post.content.split("\n\n")),
        f'<p><a href="author-{post.user_id}.html">More of this author</a></p>',
        f"<h2>Comments: {len(comments)}</h2>",
        *comments,
    )


def author_page(blog: BlogRepository, user_id: UUID) -> str | None:
    """An author and their published posts."""
    user = blog.user_profile(user_id)
    if user is None:
        return None
    posts = everything(lambda after: blog.author_published_posts(user_id, after=after))
    return page(user.name, f"<h1>{escape(user.name)}</h1>", *(line(p.post_id, p.title, p.published_at) for p in posts))


def remark(comment: Comment) -> str:
    """A comment with the name and picture of its author.

    >>> from blog.seed import comment
    >>> from dataclasses import replace
    >>> remark(replace(comment(), user_name="Bob", user_avatar_url=None, text="1 < 2 <script>"))
    '<p><b>Bob</b>: 1 &lt; 2 &lt;script&gt;</p>'
    """
    avatar = comment.user_avatar_url or ""
    # Authors choose the URL: `javascript:` and others must not get into the page.
    picture = f'<img src="{escape(avatar)}" alt=""> ' if avatar.startswith(("https://", "http://")) else ""
    return f"<p>{picture}<b>{escape(comment.user_name)}</b>: {escape(comment.text)}</p>"


def line(post_id: str, title: str, published_at: dt.datetime | None) -> str:
    on = f"{published_at:%Y-%m-%d} " if published_at else ""
    return f'<p>{on}<a href="post-{post_id}.html">{escape(title)}</a></p>'


def page(title: str, *body: str) -> str:
    head = ("<!doctype html>", '<html lang="en">', '<meta charset="utf-8">', f"<title>{escape(title)}</title>")
    return "\n".join((*head, *body, "</html>", ""))


def everything(read: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """All items of a read, from all pages."""
    found = read(None)
    yield from found
    while found.cursor is not None:
        found = read(found.cursor)
        yield from found


def write_site(blog: BlogRepository, folder: Path) -> int:
    """Writes the site into a folder and returns the number of pages."""
    posts = list(everything(lambda after: blog.front_page(after=after)))
    pages: dict[str, str | None] = {"index.html": front_page(blog)}
    pages |= {f"post-{one.post_id}.html": post_page(blog, one.post_id) for one in posts}
    pages |= {f"author-{user_id}.html": author_page(blog, user_id) for user_id in {one.user_id for one in posts}}
    written = {name: text for name, text in pages.items() if text}  # deleted meanwhile
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (folder / name).write_text(text, "utf-8")
    return len(written)


def connect(db: str = "blog.db", endpoint: str | None = None, aws: bool = False) -> BlogRepository:
    """Opens the blog in a file, on a server or on AWS, and creates the table if it is missing."""
    place: AWS | Endpoint | Embedded = AWS() if aws else Endpoint(endpoint) if endpoint else Embedded(db)
    client = Client(SCHEMA, TABLE, place)
    if not aws:  # template.yaml creates it there
        client.create_table(if_absent=True)
    return BlogRepository(client)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the output folder")
    parser.add_argument(
        "--db", default="blog.db", metavar="FILE", help="a file of the embedded engine; default: blog.db"
    )
    parser.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    parser.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    parser.add_argument("--sample", action="store_true", help="add sample posts first")
    given = parser.parse_args(arguments)
    blog = connect(given.db, given.endpoint, given.aws)
    with closing(blog.db):
        if given.sample:
            sample(blog)
        print(f"{write_site(blog, given.folder)} pages in {given.folder}")


if __name__ == "__main__":
    main()
