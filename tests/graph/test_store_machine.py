"""The store stays equal to the reference and in order through any sequence of batches."""

from grapin.testing import StoreMachine

TestStoreBesideReference = StoreMachine.TestCase
