"""OSMO's front end: it turns pool configs and workflow specs into queues, topologies, gangs and pods.

Source: spec/osmo.md.
"""
