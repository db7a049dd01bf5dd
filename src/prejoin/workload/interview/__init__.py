"""The interview: `question(workload)` returns the next question, `answer(workload, text)` the changed workload.

The document holds the state: a header line, `> Interview: attributes of Order`, names the current question. An
interrupted interview continues from the document alone.

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
