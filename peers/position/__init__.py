"""One program beside itself: does its position in the experiment, its name, its file or its port show in the figures?"""
