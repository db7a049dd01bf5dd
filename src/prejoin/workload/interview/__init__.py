"""The interview: a workload in, a question out; an answer in, a workload out. No input or output of its own.

The document is the state. Where the interview stands is a line of its header, `> Interview: attributes of Order`, so an
interview that was broken off goes on from the document alone.

>>> w = begin(Workload())
>>> question(w).text
'What is the application called?'
>>> question(answer(w, "Shop")).text
'What is it for? A sentence or two.'
"""

from prejoin.workload.interview.flow import answer, begin, question
from prejoin.workload.interview.step import Question
from prejoin.workload.model import Workload

__all__ = ["Question", "Workload", "answer", "begin", "question"]
