"""Every rule, by its id. Nothing registers itself: the folder ``rules`` and the order below are the list.

The rule kept here: all ids are known without a rule; a module is imported when a rule in it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msmq_wire.detection.rule import Rule
from msmq_wire.detection.rules import module_of, rule_of, stems

_ORDER = """
    frm_sig frm_size_min frm_size_max frm_size_stream frm_trunc frm_leftover frm_overlap frm_wrap32
    frm_pad_dirty frm_pad_len frm_seg frm_must
    flg_base_rsv flg_user_x3 flg_user_rsv flg_ah_wire flg_qtype flg_mp flg_dm flg_rc flg_in_dh
    flg_ack_noaq flg_sec_shape flg_sec_au
    len_env len_soap len_cmp len_mime len_label len_body len_sec len_mqf len_direct len_ext len_oack
    ses_naked ses_order ses_connect ses_refused ses_guid ses_os ses_pad ses_parm ses_ackback ses_acklate
    ses_slow ses_count ses_resend ses_recack
    msg_refused msg_expired msg_unacked msg_untold msg_waits net_path
    txn_gap txn_ack txn_form txn_again
    trc_forged trc_conflict trc_form
    id_clone id_many
    qm_state qm_outside
    net_loss net_window net_reset net_idle net_mtu
    tim_skew tim_expired tim_magic
    cnt_class cnt_alg cnt_clear cnt_weak cnt_sign cnt_cert cnt_verify cnt_expired cnt_trust cnt_keys
    cnt_qmaddr cnt_loopback cnt_bodytype cnt_nack
    rpc_old rpc_level rpc_anon rpc_opnum rpc_fmtlen rpc_qft rpc_ndr rpc_sec_seq rpc_sec_size rpc_purge
    rpc_read rpc_rare rpc_pending rpc_again rpc_aborts rpc_failed rpc_frag rpc_sealed
    srm_to srm_id srm_part srm_bodyelem srm_elem srm_xml srm_cut srm_http srm_pgm
    bod_binfmt bod_wcf bod_exec bod_type bod_headers bod_enc
    png_sig png_noans png_scan png_rf png_guid png_cookie
    dsd_form dsd_unasked dsd_site
    rpl_handle rpl_reqid rpl_end rpl_access rpl_action rpl_size rpl_content rpl_twice rpl_purge
    rpl_status rpl_cursor rpl_gone rpl_lookup rpl_cancel rpl_order rpl_time rpl_echo rpl_goeson
    rpl_ackagain rpl_window rpl_orderack rpl_stranger rpl_unasked rpl_outcome
    rte_path rte_direct rte_hops rte_few rte_loop rte_none
    fpr_sample fpr_nuclei fpr_zgrab fpr_metasploit fpr_script fpr_sensor
"""
_SHOWN_FIRST = _ORDER.split()
BROKEN = "broken"
"""What the rules wait for that need a record with an anomaly or an error."""
_WAITING: Mapping[str, frozenset[str]] = {
    "frm_must": frozenset((BROKEN,)),
    "replayed": frozenset(("reply",)),
    "routes": frozenset(("hop",)),
    "rpc": frozenset(("rpc_bind", "rpc_call", "com_call", "message_packet", "gap")),
    "srm": frozenset(("srmp_message", "srmp_receipt")),
}
"""Modules, and families of modules, with what their rules wait for: types of records, or `Rule.over`. Nothing
is in a finding of such a rule before one of these comes."""
_FAMILIES = list(dict.fromkeys(stem.partition("_")[0] for stem in _SHOWN_FIRST))


def _place(stem: str) -> tuple[int, int, str]:
    """The sort key: the order of the families; in a family, the leading rules, then the others by name."""
    family = stem.partition("_")[0]
    named = _SHOWN_FIRST.index(stem) if stem in _SHOWN_FIRST else len(_SHOWN_FIRST)
    return _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES), named, stem


def waits_for(id_: str) -> frozenset[str]:
    """What has to come before a rule can see anything; empty: it is asked from the beginning."""
    module = module_of(_stem(id_))
    return _WAITING.get(module) or _WAITING.get(module.partition("_")[0], frozenset())


def _stem(id_: str) -> str:
    return id_.lower().replace("-", "_")


class _Rules(Mapping[str, Rule]):
    """The rules of modules."""

    def __init__(self, stems: list[str]) -> None:
        self._stems = {stem.upper().replace("_", "-"): stem for stem in stems}
        self._known: dict[str, Rule] = {}

    def __getitem__(self, id_: str) -> Rule:
        rule = self._known.get(id_)
        if rule is None:
            rule = self._known[id_] = rule_of(self._stems[id_])
        return rule

    def __contains__(self, id_: object) -> bool:
        return id_ in self._stems

    def __iter__(self) -> Iterator[str]:
        return iter(self._stems)

    def __len__(self) -> int:
        return len(self._stems)


RULES: Mapping[str, Rule] = _Rules(sorted({*_SHOWN_FIRST, *stems()}, key=_place))
"""All rules, in the order of lists."""
