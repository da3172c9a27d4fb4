"""DCOM as far as the objects of MSMQ need it: calls of queue objects, their arguments, interface pointers.

[MC-MQAC], [MS-DCOM], [MS-OAUT]. Every structure is declared once, in the words of its IDL.
"""
