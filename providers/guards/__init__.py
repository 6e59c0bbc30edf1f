"""What keeps a published capacity from following every change at once. Pure: time comes in as an argument.

A fall, or a rise, is published once it has lasted; a fall of too large a share waits for a grace time or for a person.
Flavors never hold each other up.
"""

from providers.guards.holds import Guard, Hold, holds_in, texts_of
from providers.guards.memory import Decision, GuardMemory

__all__ = ["Decision", "Guard", "GuardMemory", "Hold", "holds_in", "texts_of"]
