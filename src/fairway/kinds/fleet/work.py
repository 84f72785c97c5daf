"""Work: manifests for one member cluster. AppliedWork: what the member applied of them."""

from __future__ import annotations

from fairway.kinds.fleet.common import ApplyStrategy, Condition, ReportBackStrategy
from fairway.kinds.fleet.placement import PatchDetail
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Json, Opt, Time, Type


class WorkResourceIdentifier(Type):
    """A manifest of a Work."""

    ordinal: Annotated[int, F("place in the list of manifests")]
    group: Opt[Annotated[str, F("API group")]] = UNSET
    version: Opt[Annotated[str, F("API version")]] = UNSET
    kind: Opt[Annotated[str, F("kind of the object")]] = UNSET
    resource: Opt[Annotated[str, F("plural name of the kind")]] = UNSET
    namespace: Opt[Annotated[str, F("namespace of the object")]] = UNSET
    name: Opt[Annotated[str, F("name of the object")]] = UNSET


class WorkloadTemplate(Type):
    """Objects for a member."""

    manifests: Opt[Annotated[list[dict[str, Json]], F("the objects, whole")]] = UNSET


class WorkSpecV1(Type):
    """Objects for a member, and how to write them."""

    workload: Opt[Annotated[WorkloadTemplate, F("the objects")]] = UNSET
    apply_strategy: Opt[Annotated[ApplyStrategy, F("how objects are written")]] = UNSET


class WorkSpec(WorkSpecV1):
    """Objects for a member, and how to write them."""

    report_back_strategy: Opt[Annotated[ReportBackStrategy, F("whether status comes back to the hub")]] = UNSET


class DriftDetails(Type):
    """How an object was changed on the member."""

    observation_time: Annotated[Time, F("when this was last observed")]
    observed_in_member_cluster_generation: Annotated[int, F("generation of the object on the member")]
    first_drifted_observed_time: Annotated[Time, F("when a change was first observed")]
    observed_drifts: Opt[Annotated[list[PatchDetail], F("the changed fields")]] = UNSET


class DiffDetails(Type):
    """How an object differs on the member."""

    observation_time: Annotated[Time, F("when this was last observed")]
    observed_in_member_cluster_generation: Opt[Annotated[int, F("generation of the object on the member")]] = UNSET
    first_diffed_observed_time: Annotated[Time, F("when a difference was first observed")]
    observed_diffs: Opt[Annotated[list[PatchDetail], F("the differing fields")]] = UNSET


class BackReportedStatus(Type):
    """The status of the object on the member."""

    observed_status: Opt[Annotated[dict[str, Json], F("object of the same kind with its status alone")]] = UNSET
    observation_time: Annotated[Time, F("when it was observed")]


class ManifestConditionV1(Type):
    """How one manifest is doing."""

    identifier: Annotated[WorkResourceIdentifier, F("which manifest")]
    conditions: Annotated[list[Condition], F("Applied, Available, DiffReported")]
    drift_details: Opt[Annotated[DriftDetails, F("how it was changed on the member")]] = UNSET
    diff_details: Opt[Annotated[DiffDetails, F("how it differs on the member")]] = UNSET


class ManifestCondition(ManifestConditionV1):
    """How one manifest is doing."""

    back_reported_status: Opt[Annotated[BackReportedStatus, F("its status on the member")]] = UNSET


class WorkStatusV1(Type):
    """How the manifests are doing."""

    conditions: Annotated[list[Condition], F("state of all manifests together")]
    manifest_conditions: Opt[Annotated[list[ManifestConditionV1], F("state of each manifest")]] = UNSET


class WorkStatus(WorkStatusV1):
    """How the manifests are doing."""

    manifest_conditions: Opt[Annotated[list[ManifestCondition], F("state of each manifest")]] = UNSET  # type: ignore[assignment]


class Work(Object):
    """Objects that one member cluster shall have."""

    spec: Opt[Annotated[WorkSpec, F("objects for the member")]] = UNSET
    status: Opt[Annotated[WorkStatus, F("how they are doing")]] = UNSET


class WorkV1(Object):
    """Objects that one member cluster shall have."""

    spec: Opt[Annotated[WorkSpecV1, F("objects for the member")]] = UNSET
    status: Opt[Annotated[WorkStatusV1, F("how they are doing")]] = UNSET


class AppliedWorkSpec(Type):
    """The Work that this stands for."""

    work_name: Annotated[str, F("name of the Work on the hub")]
    work_namespace: Annotated[str, F("namespace of the Work on the hub")]


class AppliedResourceMeta(WorkResourceIdentifier):
    """An object that was applied."""

    uid: Opt[Annotated[str, F("uid of the object on the member")]] = UNSET


class AppliedWorkStatus(Type):
    """What was applied."""

    applied_resources: Opt[Annotated[list[AppliedResourceMeta], F("objects that were applied")]] = UNSET


class AppliedWork(Object):
    """On a member: owner of all objects of a Work, so that they go when it goes."""

    spec: Annotated[AppliedWorkSpec, F("the Work on the hub")]
    status: Opt[Annotated[AppliedWorkStatus, F("what was applied")]] = UNSET
