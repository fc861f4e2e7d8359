#!/bin/sh
# As in the official images, services of packages must not start during a build.
exit 101
