"""Sums without a third party: exact whoever vanishes at whatever step, and none for a server that tells two tales."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.noise_shares import draw_gaussian_share
from discreet.privacy.randomness import Randomness
from discreet.protocol.messages import read_message
from discreet.protocol.pairwise import Group, PairwiseUser
from discreet.protocol.pairwise_messages import Keys, PairwiseValue, Roster, Shares, Survivors, Unmasking
from discreet.protocol.pairwise_server import PairwiseServer
from discreet.protocol.register import identity_of, signed
from discreet.protocol.shamir import PRIME, join_shares, split_secret
from discreet.protocol.user import Policy, seeded_bytes
from discreet.protocol.wire import RefusedError

from .conftest import ITEMS, make_offer, make_question

HONEST = 0.9


def no_share(question, honest):
    return np.zeros(question.cells, dtype=np.int64)


def make_group(users: int, noise=no_share, honest: float = HONEST, bits: int = 64):
    offer = make_offer(bits=bits)
    question = make_question(offer)
    policy = Policy(epsilon=100.0, minimum_group=2)
    members = [make_user(place, users, policy, offer, honest=honest, noise=noise) for place in range(users)]
    return PairwiseServer(offer, question, honest=honest, register=register_of(users)), question, members


def register_of(users: int):
    return [identity_of(bytes([place]) * 32) for place in range(users)]


def make_user(place: int, users: int, policy, offer, **settings):
    """One of so many who are in the register."""
    own = {"identity": bytes([place]) * 32, "register": register_of(users), "draw": seeded_bytes(place)}
    return PairwiseUser(policy, offer, catalogue=ITEMS, **(own | settings))


def up_to_values(server, question, members, values, lost_early=(), lost_late=()):
    """Everything up to the values; users vanish before their shares, or before their value. Who is left, by name."""
    names = {}
    for user in members:
        keys = user.join(question, question)
        names[keys.sender] = user
        server.join(read_message(keys.to_bytes(), Keys))
    roster = read_message(server.roster().to_bytes(), Roster)
    by_place = dict(zip(members, range(len(members)), strict=True))
    for user in members:
        if by_place[user] not in lost_early:
            server.receive_shares(read_message(user.share(roster).to_bytes(), Shares))
    left = {}
    for name, delivered in server.deliver().items():
        user = names[name]
        if by_place[user] in lost_late:
            continue
        value = user.value(delivered, values[by_place[user]], question)
        server.receive(read_message(value.to_bytes(), PairwiseValue))
        left[name] = user
    return left


def finish(server, left, lost_last=()):
    survivors = read_message(server.close().to_bytes(), Survivors)
    for user in left.values():
        server.receive_confirmation(user.confirm(survivors))
    for place, (name, confirmed) in enumerate(sorted(server.confirmed().items())):
        if place not in lost_last:
            server.receive_unmasking(read_message(left[name].unmask(confirmed).to_bytes(), Unmasking))
    return server.whole(server.finish())


@settings(max_examples=15)
@pytest.mark.parametrize("bits", [32, 64])
@given(users=st.integers(4, 8), seed=st.integers(0, 2**32), data=st.data())
def test_masks_cancel_whoever_vanishes_at_whatever_step(bits, users, seed, data):
    values = np.random.default_rng(seed).integers(-1000, 1000, (users, 5)) * 2.0**-10
    spare = users - Group(users, HONEST).threshold
    gone = data.draw(st.permutations(range(users)))[: data.draw(st.integers(0, spare))]
    cut = data.draw(st.integers(0, len(gone)))
    server, question, members = make_group(users, bits=bits)
    left = up_to_values(server, question, members, values, gone[:cut], gone[cut:])
    last = range(data.draw(st.integers(0, spare - len(gone))))
    found = finish(server, left, last)
    kept = [place for place in range(users) if place not in gone]
    assert found.tolist() == (values[kept].sum(axis=0) * 2**10).astype(np.int64).tolist()


def test_too_few_users_give_no_sum():
    server, question, members = make_group(5)
    with pytest.raises(RefusedError, match="too few"):
        up_to_values(server, question, members, np.ones((5, 5)), lost_early=(0, 1, 2))
    server, question, members = make_group(5)
    up_to_values(server, question, members, np.ones((5, 5)), lost_late=(0, 1, 2))
    with pytest.raises(RefusedError, match="too few"):
        server.close()


def test_a_late_value_stays_masked():
    """The server takes a value after the key of its sender was given away: the own mask is still on it."""
    server, question, members = make_group(5)
    values = np.ones((5, 5))
    left = up_to_values(server, question, members, values, lost_late=(4,))
    finish(server, left)
    late = next(iter(server.deliver().values()))  # nothing is left to answer for the users who are done
    with pytest.raises(RefusedError, match="out of order"):
        next(iter(left.values())).value(late, values[0], question)
    name = next(name for name in server._boxes if name not in left)
    late = members[4].value(server.deliver()[name], values[4], question)
    with pytest.raises(RefusedError, match="closed"):
        server.receive(late)
    # Even with the pair masks taken away the words are not the value.
    from discreet.protocol.pairwise import add_pair_mask

    words, label = late.words.copy(), late.label.to_bytes()
    keys = {member: mask for member, mask, _ in server.roster().members}
    for other in server._boxes:
        if other != name:
            add_pair_mask(words, members[4]._mask_key, other, name, keys[other], label)
    assert (words != question.points(server.offer).encode(values[4])).all()


def test_two_lists_of_survivors_are_found_out():
    """A server that tells some users that others vanished, to get at both of their secrets, gets no shares at all."""
    server, question, members = make_group(6, honest=1.0)
    left = up_to_values(server, question, members, np.ones((6, 5)))
    survivors = server.close()
    other = replace(survivors, senders=survivors.senders[1:])
    names = sorted(left)
    for name in names[1:]:
        server.receive_confirmation(left[name].confirm(survivors))
    with pytest.raises(RefusedError, match="another list of survivors came before"):
        left[names[1]].confirm(other)
    # One user was told the other list: the codes of the others do not fit there.
    with pytest.raises(RefusedError, match="not in the sum"):
        left[names[0]].confirm(other)
    told = replace(survivors, senders=tuple(sorted({names[0], *names[2:]})))
    left[names[0]].confirm(told)
    codes = replace(
        next(iter(server.confirmed().values())),
        receiver=names[0],
        survivors=told.digest,
        codes=tuple((name, server._codes[name][names[0]]) for name in names[2:]),
    )
    with pytest.raises(RefusedError, match="saw another list"):
        left[names[0]].unmask(codes)


def only(roster, keep):
    """The same list with some of its rows."""
    rows = [place for place, (name, _, _) in enumerate(roster.members) if keep(name)]
    return replace(
        roster,
        members=tuple(roster.members[place] for place in rows),
        signed=tuple(roster.signed[place] for place in rows),
    )


def test_users_refuse_a_list_that_is_not_theirs():
    server, question, members = make_group(4)
    keys = [user.join(question, question) for user in members]
    for each in keys:
        server.join(each)
    roster = server.roster()
    with pytest.raises(RefusedError, match="own keys"):
        members[0].share(only(roster, lambda name: name != keys[0].sender))
    with pytest.raises(RefusedError, match="honest users than was agreed"):
        members[0].share(replace(roster, honest=0.5))
    with pytest.raises(RefusedError, match="at least"):
        members[0].share(only(roster, lambda name: name == keys[0].sender))
    weak, signatures = [], []
    for name, mask, share in roster.members:
        place = next(place for place, each in enumerate(keys) if each.sender == name)
        weak.append((name, bytes(32), bytes(32)) if place else (name, mask, share))
        signature = signed(bytes([place]) * 32, roster.label, roster.question, weak[-1])
        signatures.append((keys[place].identity, signature))
    with pytest.raises(RefusedError, match="no proper key"):  # of users who collude, and sign what they like
        members[0].share(replace(roster, members=tuple(weak), signed=tuple(signatures)))


def test_a_server_cannot_invent_users():
    """With keys of its own for everybody but one it would learn that one's value, under that one's noise alone."""
    server, question, members = make_group(4)
    keys = [user.join(question, question) for user in members]
    for each in keys:
        server.join(each)
    roster = server.roster()
    mine = next(place for place, (name, _, _) in enumerate(roster.members) if name == keys[0].sender)
    other = (mine + 1) % 4
    made_up = (roster.members[other][0], bytes([9]) * 32, bytes([9]) * 32)
    members_now = tuple(made_up if place == other else row for place, row in enumerate(roster.members))
    with pytest.raises(RefusedError, match="not signed by that user"):
        members[0].share(replace(roster, members=members_now))
    own = bytes([200]) * 32
    stranger = identity_of(own), signed(own, roster.label, roster.question, made_up)
    signed_now = tuple(stranger if place == other else row for place, row in enumerate(roster.signed))
    with pytest.raises(RefusedError, match="not in the register"):
        members[0].share(replace(roster, members=members_now, signed=signed_now))
    double = tuple(roster.signed[mine] if place == other else row for place, row in enumerate(roster.signed))
    with pytest.raises(RefusedError, match="one person twice"):
        members[0].share(replace(roster, signed=double))
    with pytest.raises(RefusedError, match="another register"):
        members[0].share(replace(roster, register=5))
    again = members[1].join(question, question)
    late = PairwiseServer(server.offer, question, honest=HONEST, register=register_of(4))
    late.join(keys[1])
    with pytest.raises(RefusedError, match="under another name"):
        late.join(again)


def test_a_server_that_asks_its_friends_and_one_other_gets_all_the_noise():
    """Of 40 users 4 may collude, and all of them may be in a group of 5: the fifth then adds the whole noise."""
    offer = make_offer()
    question, policy, asked = make_question(offer), Policy(epsilon=100.0, minimum_group=2), []

    def share(asked_for, honest):
        asked.append(honest)
        return np.zeros(asked_for.cells, dtype=np.int64)

    for size in (4, 5):
        members = [make_user(place, 40, policy, offer, honest=0.9, noise=share) for place in range(size)]
        server = PairwiseServer(offer, question, honest=0.9, register=register_of(40))
        if size == 4:
            for user in members:
                server.join(user.join(question, question))
            with pytest.raises(RefusedError, match="may collude in so small a group"):
                members[0].share(server.roster())
        else:
            up_to_values(server, question, members, np.ones((size, 5)))
    assert asked == [1] * 5 and Group(5, 0.9).noisy == 3  # by the group alone it would be a third
    prices = [users / Group(users, 0.9, 1000).noisy for users in (1000, 200, 110)]
    assert np.round(prices, 1).tolist() == [2.2, 3.9, 18.3]  # as the documentation says


def test_changed_shares_are_refused():
    server, question, members = make_group(4)
    for user in members:
        server.join(user.join(question, question))
    for user in members:
        server.receive_shares(user.share(server.roster()))
    name, delivered = next(iter(server.deliver().items()))
    user = next(user for user in members if user._name == name)
    first, box = delivered.boxes[0]
    bad = replace(delivered, boxes=((first, bytes([box[0] ^ 1]) + box[1:]), *delivered.boxes[1:]))
    with pytest.raises(RefusedError, match="changed on their way"):
        user.value(bad, np.ones(5), question)
    assert user.answered == 0  # nothing was charged


def test_noise_of_the_survivors_is_at_least_what_is_booked():
    """Within 8 standard errors of the variance of all shares: false alarms below 1e-14."""
    offer = make_offer()
    question = make_question(offer, shape=(4000,))
    policy, users = Policy(epsilon=100.0, minimum_group=2), 5

    def share(asked, honest):
        return draw_gaussian_share(asked.spend.scale / asked.step, honest, asked.cells, Randomness(seed=next(seeds)))

    seeds = iter(range(100))
    members = [make_user(place, users, policy, offer, honest=0.8, noise=share) for place in range(users)]
    server = PairwiseServer(offer, question, honest=0.8, register=register_of(users))
    left = up_to_values(server, question, members, np.zeros((users, 4000)))
    found = finish(server, left) * question.step
    group = Group(users, 0.8)
    assert (group.colluding, group.threshold, group.noisy) == (1, 4, 3)
    expected = question.spend.scale**2 * users / group.noisy
    assert abs(float(found.var()) / expected - 1) < 8 * np.sqrt(2 / 4000)


@given(users=st.integers(2, 500), honest=st.floats(0.01, 1.0))
def test_two_lists_never_both_have_enough_honest_users(users, honest):
    group = Group(users, honest)
    assert 2 * (group.threshold - group.colluding) > users - group.colluding
    if users > 2 and group.colluding < users - 1:  # some of them stay away, and nobody who colludes does
        some = Group(users - 1, honest, users)
        assert 2 * (some.threshold - some.colluding) > some.users - some.colluding and some.noisy >= 1
    assert 1 <= group.noisy <= group.threshold <= users and group.colluding < group.threshold


@given(secret=st.binary(min_size=32, max_size=32), count=st.integers(1, 9), data=st.data())
def test_any_threshold_of_shares_gives_the_secret_and_fewer_fit_any(secret, count, data):
    threshold = data.draw(st.integers(1, count))
    shares = dict(enumerate(split_secret(secret, count, threshold), start=1))
    chosen = data.draw(st.permutations(sorted(shares)))[:threshold]
    assert join_shares({place: shares[place] for place in chosen}) == secret
    if threshold > 1:
        assert join_shares({place: shares[place] for place in chosen[1:]}) != secret


def test_the_prime_is_one():
    odd, power = PRIME - 1, 0
    while odd % 2 == 0:
        odd, power = odd // 2, power + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43):
        value = pow(base, odd, PRIME)
        passed = value in (1, PRIME - 1)
        for _ in range(power - 1):
            value = value * value % PRIME
            passed = passed or value == PRIME - 1
        assert passed
