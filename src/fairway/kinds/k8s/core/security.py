"""Security settings of a pod and of a container."""

from __future__ import annotations

from fairway.kinds.types import UNSET, Annotated, F, Int64, Opt, Type


class Capabilities(Type):
    add: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET
    drop: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = UNSET


class SELinuxOptions(Type):
    user: Opt[Annotated[str, F(proto=1)]] = UNSET
    role: Opt[Annotated[str, F(proto=2)]] = UNSET
    type: Opt[Annotated[str, F(proto=3)]] = UNSET
    level: Opt[Annotated[str, F(proto=4)]] = UNSET


class WindowsSecurityContextOptions(Type):
    gmsa_credential_spec_name: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    gmsa_credential_spec: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET
    run_as_user_name: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    host_process: Opt[Annotated[bool, F(proto=4, zero=True)]] = UNSET


class SeccompProfile(Type):
    type: Annotated[str, F(proto=1)] = ""
    localhost_profile: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class AppArmorProfile(Type):
    type: Annotated[str, F(proto=1)] = ""
    localhost_profile: Opt[Annotated[str, F(proto=2, zero=True)]] = UNSET


class SecurityContext(Type):
    capabilities: Opt[Annotated[Capabilities, F(proto=1)]] = UNSET
    privileged: Opt[Annotated[bool, F(proto=2, zero=True)]] = UNSET
    se_linux_options: Opt[Annotated[SELinuxOptions, F(proto=3)]] = UNSET
    windows_options: Opt[Annotated[WindowsSecurityContextOptions, F(proto=10)]] = UNSET
    run_as_user: Opt[Annotated[Int64, F(proto=4, zero=True)]] = UNSET
    run_as_group: Opt[Annotated[Int64, F(proto=8, zero=True)]] = UNSET
    run_as_non_root: Opt[Annotated[bool, F(proto=5, zero=True)]] = UNSET
    read_only_root_filesystem: Opt[Annotated[bool, F(proto=6, zero=True)]] = UNSET
    allow_privilege_escalation: Opt[Annotated[bool, F(proto=7, zero=True)]] = UNSET
    proc_mount: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET
    seccomp_profile: Opt[Annotated[SeccompProfile, F(proto=11)]] = UNSET
    app_armor_profile: Opt[Annotated[AppArmorProfile, F(proto=12)]] = UNSET


class Sysctl(Type):
    name: Annotated[str, F(proto=1)] = ""
    value: Annotated[str, F(proto=2)] = ""


class PodSecurityContext(Type):
    se_linux_options: Opt[Annotated[SELinuxOptions, F(proto=1)]] = UNSET
    windows_options: Opt[Annotated[WindowsSecurityContextOptions, F(proto=8)]] = UNSET
    run_as_user: Opt[Annotated[Int64, F(proto=2, zero=True)]] = UNSET
    run_as_group: Opt[Annotated[Int64, F(proto=6, zero=True)]] = UNSET
    run_as_non_root: Opt[Annotated[bool, F(proto=3, zero=True)]] = UNSET
    supplemental_groups: Opt[Annotated[list[Int64], F(proto=4, list_type="atomic")]] = UNSET
    supplemental_groups_policy: Opt[Annotated[str, F(proto=12, zero=True)]] = UNSET
    fs_group: Opt[Annotated[Int64, F(proto=5, zero=True)]] = UNSET
    sysctls: Opt[Annotated[list[Sysctl], F(proto=7, list_type="atomic")]] = UNSET
    fs_group_change_policy: Opt[Annotated[str, F(proto=9, zero=True)]] = UNSET
    seccomp_profile: Opt[Annotated[SeccompProfile, F(proto=10)]] = UNSET
    app_armor_profile: Opt[Annotated[AppArmorProfile, F(proto=11)]] = UNSET
    se_linux_change_policy: Opt[Annotated[str, F(proto=13, zero=True)]] = UNSET
