import os

import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.fitting.outputs import check_file, check_release_folder


def test_a_new_folder_an_empty_one_and_a_release_to_replace_are_fine(tmp_path):
    check_release_folder(tmp_path / "new" / "deeper")
    check_release_folder(tmp_path)
    dc.Popularity().fit(dc.NoPrivacy(dc.synthetic(users=20, items=10, ratings=50, seed=1))).save(tmp_path / "release")
    with pytest.raises(InputError, match="holds a release: name another folder, or replace it with --replace"):
        check_release_folder(tmp_path / "release")
    check_release_folder(tmp_path / "release", replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_nothing_else_is_overwritten(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    for taken in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(InputError, match="exists and is not a release; nothing was written"):
            check_release_folder(taken)
    with pytest.raises(InputError, match="is a folder: name a file"):
        check_file(tmp_path)


def test_a_folder_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    for check in (check_file, check_release_folder):
        with pytest.raises(InputError, match=r"letter\.txt is not a folder; nothing was written"):
            check(tmp_path / "letter.txt" / "below" / "it")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_refused(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for check in (check_file, check_release_folder):
        with pytest.raises(InputError, match="Permission denied; nothing was written"):
            check(closed / "result")


def test_a_system_that_refuses_is_believed(tmp_path, monkeypatch):
    def refuse(*_arguments, **_named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(InputError, match=r"cannot write to .*: Permission denied; nothing was written"):
        check_file(tmp_path / "page.html")
