"""What a file in anybody's repository is: judged, or left out for a reason; and which configuration is nearest to it.

Pure functions of paths and texts; `packwise.cli` walks the disk or a commit and asks them.
"""

from __future__ import annotations

from packwise.discovery.content import content_reason, unparsed_reason
from packwise.discovery.ignored import GITIGNORE, Ignored, ignored_files, ignored_from
from packwise.discovery.landmarks import KUSTOMIZATIONS, LANDMARKS, Landmarks
from packwise.discovery.nearest import Traits, configured_folders, nearest_folder_among, nearest_folders
from packwise.discovery.reason import LeftOut, Reason, passed_over, summary

__all__ = [
    "GITIGNORE",
    "KUSTOMIZATIONS",
    "LANDMARKS",
    "Ignored",
    "Landmarks",
    "LeftOut",
    "Reason",
    "Traits",
    "configured_folders",
    "content_reason",
    "ignored_files",
    "ignored_from",
    "nearest_folder_among",
    "nearest_folders",
    "passed_over",
    "summary",
    "unparsed_reason",
]
