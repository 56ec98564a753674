"""What is wrong where, by which rule: problems, the rules that they break, and the findings that users see."""
