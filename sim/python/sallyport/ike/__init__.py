# SPDX-License-Identifier: Apache-2.0
"""Two gateways whose IKE daemons are strongSwan's charon, and the measures that they undergo: after
the IKE tests of draft-ietf-bmwg-ipsec-meth-05.

Charon and sallyportd run on this machine and in its time. A tester gives the boxes and the traffic
([sallyport.ike.gateways.Gateways]); the simulated one is `sallyport.backend_sim.ike`.
"""

from sallyport.ike.charon import check_charon
from sallyport.ike.measures import MEASURES
from sallyport.ike.spaces import check_rights
from sallyport.ike.suites import check_suites

__all__ = ["MEASURES", "check_charon", "check_rights", "check_suites"]
