"""Names of things. Distinct types, so that a component is never passed for a host."""

from typing import NewType

TopologyId = NewType("TopologyId", str)
ComponentId = NewType("ComponentId", str)
ContainerId = NewType("ContainerId", str)
HostId = NewType("HostId", str)
ChangeId = NewType("ChangeId", str)
SubstreamId = NewType("SubstreamId", int)
InstanceId = NewType("InstanceId", int)
