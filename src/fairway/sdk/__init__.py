"""Fairway from Python: submit, map over many, wait, read the output. `fairway.Client`, and `fairway.AsyncClient` for event loops.

    import fairway
    with fairway.Client() as client:
        job = client.submit("python train.py", cpu=2, memory="4Gi")
        print(job.wait().state, job.output())

Imports the API's Client and nothing else of fairway but kinds and runtime.
"""

from fairway.api.errors import ApiError
from fairway.sdk.aio import AsyncClient, AsyncJob, JobFailed
from fairway.sdk.client import Client, Job
from fairway.sdk.request import JobOptions, JobRequest, RequestError
from fairway.sdk.view import JobView, State

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Job",
    "JobFailed",
    "JobOptions",
    "JobRequest",
    "JobView",
    "RequestError",
    "State",
]
